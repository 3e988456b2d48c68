// Counts the units that the chunks of a stream use.

import { checkCost, checkCosts } from '../core/cost.ts'
import { mustBe, SluiceError, show } from '../core/errors.ts'
import type { Cost } from '../core/subject.ts'
import { MAX } from '../core/whole-numbers.ts'

/** Counts what a stream uses. */
export interface StreamCounter<C> {
  /** Called with each chunk, in order. */
  add(chunk: C): void
  /**
   * Returns the units used: a number for all held rules, or an object with a number for each rule name. Undefined if they are not
   * known: then all held units are charged. Called once, after the last chunk.
   */
  total(): Cost | undefined
}

/** A function that returns the units of one chunk, which are added up; or a counter. */
export type Count<C> = ((chunk: C) => Cost) | StreamCounter<C>

/** Throws ERR_OPTION unless `count` is a function or a counter. */
export function checkCount(count: unknown): void {
  const { add, total } = (count ?? {}) as Partial<StreamCounter<unknown>>
  if (typeof count === 'function' || (typeof add === 'function' && typeof total === 'function')) return
  throw mustBe('ERR_OPTION', 'count', 'a function of a chunk, or an object with add() and total()', count)
}

/** A counter that never throws. After an error it counts no further, and the units are not known. */
export class SafeCounter<C> implements StreamCounter<C> {
  readonly #counter: StreamCounter<C>
  #error: unknown

  /** `names` are the rules that are held. */
  constructor(count: Count<C>, names: readonly string[]) {
    this.#counter = typeof count === 'function' ? new Sum(count, names) : count
  }

  get error(): unknown {
    return this.#error
  }

  add(chunk: C): void {
    if (this.#error === undefined) this.#guard(() => this.#counter.add(chunk))
  }

  total(): Cost | undefined {
    return this.#error === undefined ? this.#guard(() => this.#counter.total()) : undefined
  }

  #guard<V>(call: () => V): V | undefined {
    try {
      return call()
    } catch (error) {
      this.#error = error ?? new Error('count failed, and not with an error')
      return undefined
    }
  }
}

/** Adds up the units of chunks. A rule that no chunk names is not known, unless a chunk has a number for all rules. */
class Sum<C> implements StreamCounter<C> {
  readonly #count: (chunk: C) => Cost
  readonly #names: readonly string[]
  /** Units for every rule. */
  #forAll = 0
  readonly #byName = new Map<string, number>()

  constructor(count: (chunk: C) => Cost, names: readonly string[]) {
    this.#count = count
    this.#names = names
  }

  add(chunk: C): void {
    const units = this.#count(chunk)
    if (typeof units === 'number') {
      checkCost(units, 0)
      this.#forAll = bounded(this.#forAll + units)
      return
    }
    checkCosts(units)
    for (const [name, amount] of Object.entries(units)) {
      if (!this.#names.includes(name)) throw notHeld(name, this.#names)
      checkCost(amount, 0, name)
      this.#byName.set(name, bounded((this.#byName.get(name) ?? 0) + amount))
    }
  }

  total(): Cost {
    if (this.#byName.size === 0) return this.#forAll
    const known = this.#forAll > 0 ? this.#names : [...this.#byName.keys()]
    return Object.fromEntries(known.map((name) => [name, bounded(this.#forAll + (this.#byName.get(name) ?? 0))]))
  }
}

/** Makes the error about units of a rule that is not held. */
export function notHeld(name: string, names: readonly string[]): SluiceError {
  const message = `no units of ${show(name)} are held: there is ${names.map(show).join(', ')}`
  return new SluiceError('ERR_RULE_NAME', message, { option: name })
}

function bounded(units: number): number {
  return Math.min(units, MAX)
}
