// Reads the options of SLUICE commands: words such as TTL and ATTR, each followed by its values.

import { ServerError } from '../../../errors.ts'
import { type Arguments, word } from '../protocol/arguments.ts'

const RULE = word('RULE')

/** Walks over the arguments of a command from left to right. */
export class Words {
  readonly #args: Arguments
  #at: number

  constructor(args: Arguments, start: number) {
    this.#args = args
    this.#at = start
  }

  /** True if no argument is left. */
  get isDone(): boolean {
    return this.#at >= this.#args.count
  }

  /** Passes over the next argument if it is this word. */
  takes(name: Uint8Array): boolean {
    if (this.isDone || !this.#args.is(this.#at, name)) return false
    this.#at += 1
    return true
  }

  text(what: string): string {
    return this.#args.text(this.#next(what))
  }

  /** Returns a whole number. One that is too large to be exact is infinite, and validation refuses it. */
  number(what: string): number {
    const index = this.#next(what)
    const value = this.#args.number(index)
    if (Number.isNaN(value)) throw new ServerError('ERR_INPUT', `${what} must be a whole number, got '${this.#args.text(index)}'`)
    return value
  }

  /** Reads units: a number, or `RULE name number`, which is added to the units of other rules. */
  units(known: UnitsRead, what: string): UnitsRead {
    if (!this.takes(RULE)) return this.number(what)
    const name = this.text(`a rule after ${what} RULE`)
    const byRule = typeof known === 'object' ? known : Object.create(null)
    return Object.assign(byRule, { [name]: this.number(`${what} RULE ${name}`) })
  }

  /** Throws ERR_INPUT for an argument that no option takes. */
  refuse(expected: string): never {
    throw new ServerError('ERR_INPUT', `'${this.#args.text(this.#at)}' is not an option here: expected ${expected}`)
  }

  #next(what: string): number {
    if (this.isDone) throw new ServerError('ERR_INPUT', `${what} is missing`)
    this.#at += 1
    return this.#at - 1
  }
}

/** Units as read so far: one number for all rules, or a number for each named rule. */
export type UnitsRead = number | Record<string, number> | undefined
