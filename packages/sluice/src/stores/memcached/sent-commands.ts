// Commands that wait for their answers, in the order in which they were sent.

import type { SluiceError } from '../../core/errors.ts'
import type { Command } from './meta-commands.ts'

/** A command with its number, and the functions that settle it. */
export interface Pending {
  readonly command: Command<unknown>
  readonly opaque: number
  readonly resolve: (answer: never) => void
  readonly reject: (error: SluiceError) => void
}

/** Answered commands are removed from the list when there are so many. */
const MOST_ANSWERED = 1024

export class SentCommands {
  /** Commands before `#answered` have their answers. */
  #commands: (Pending | undefined)[] = []
  #answered = 0

  get size(): number {
    return this.#commands.length - this.#answered
  }

  get first(): Pending | undefined {
    return this.#commands[this.#answered]
  }

  get last(): Pending | undefined {
    return this.#commands.at(-1)
  }

  has(pending: Pending | undefined): boolean {
    return this.#commands.indexOf(pending, this.#answered) >= 0
  }

  add(commands: readonly Pending[]): void {
    for (const command of commands) this.#commands.push(command)
  }

  removeFirst(): void {
    this.#commands[this.#answered] = undefined
    this.#answered += 1
    if (this.size > 0 && this.#answered < MOST_ANSWERED) return
    this.#commands = this.#commands.slice(this.#answered)
    this.#answered = 0
  }

  /** Removes all commands, and returns them. */
  removeAll(): readonly Pending[] {
    const left = this.#commands.slice(this.#answered) as Pending[]
    this.#commands = []
    this.#answered = 0
    return left
  }
}
