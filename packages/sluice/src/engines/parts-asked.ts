// The outcome of each server that one call was sent to. If the call fails, most servers are not to blame.

import { SluiceError } from '../core/errors.ts'
import type { PartOutcomes } from '../core/store.ts'

export class PartsAsked {
  /** Number of questions that a server has not answered yet. */
  readonly #waiting = new Map<string, number>()
  readonly #answered = new Set<string>()
  readonly #failed = new Set<string>()
  #hasFatal = false

  /** Notes what becomes of a question to a server. Returns the answer. */
  note<V>(server: string, answer: Promise<V>): Promise<V> {
    this.#waiting.set(server, (this.#waiting.get(server) ?? 0) + 1)
    answer.then(
      () => this.#end(server, this.#answered),
      (error: unknown) => {
        const isFatal = error instanceof SluiceError && error.code === 'ERR_STORE_FATAL'
        this.#hasFatal ||= isFatal
        this.#end(server, isFatal ? this.#answered : this.#failed)
      },
    )
    return answer
  }

  /** The outcomes of a failed call. If no server has ended it by an error, those that have not answered failed it. */
  get outcomes(): PartOutcomes {
    const waiting = [...this.#waiting.keys()]
    const failed = this.#failed.size > 0 || this.#hasFatal ? [...this.#failed] : waiting
    const answered = [...this.#answered].filter((server) => !this.#failed.has(server) && !this.#waiting.has(server))
    return { answered, failed }
  }

  #end(server: string, outcome: Set<string>): void {
    outcome.add(server)
    const left = (this.#waiting.get(server) ?? 0) - 1
    if (left > 0) this.#waiting.set(server, left)
    else this.#waiting.delete(server)
  }
}
