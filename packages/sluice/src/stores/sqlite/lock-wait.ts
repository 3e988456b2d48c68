// Waits for the lock of a file, blocking. It sleeps for about a millisecond between two attempts, a random time.
// Invariant: a wait ends when it has slept for `longestMs`. Time in which the machine does not run this process is not counted: a wait
// that counted it would give up on a busy machine after a few attempts. A file that stays locked is waited for so long only once.

import { isBusy } from './sqlite-errors.ts'

const FIRST_SLEEP_MS = 0.05
const LONGEST_SLEEP_MS = 1

/** A wait after another one was in vain takes so much of the time at most, until the lock was free. */
const AFTER_VAIN = 1 / 4

export class LockWait {
  readonly #longestMs: number
  readonly #random: () => number
  #wasInVain = false
  /** A word that never changes. `Atomics.wait` on it sleeps. */
  #word: Int32Array | undefined

  constructor(longestMs: number, random: () => number) {
    this.#longestMs = longestMs
    this.#random = random
  }

  /** Notes that the lock was free. The next wait may last its whole time again. */
  wasFree(): void {
    this.#wasInVain = false
  }

  /** Repeats `attempt` while the file is locked. Throws the last error when the time is over. */
  run<V>(attempt: () => V): V {
    const longestMs = this.#longestMs * (this.#wasInVain ? AFTER_VAIN : 1)
    let sleptMs = 0
    for (let meanMs = FIRST_SLEEP_MS; ; meanMs = Math.min(LONGEST_SLEEP_MS, 2 * meanMs)) {
      try {
        const result = attempt()
        this.wasFree()
        return result
      } catch (error) {
        if (!isBusy(error)) throw error
        if (sleptMs >= longestMs) {
          this.#wasInVain = true
          throw error
        }
        const sleepMs = meanMs * (0.5 + this.#random())
        this.#sleep(sleepMs)
        sleptMs += sleepMs
      }
    }
  }

  #sleep(ms: number): void {
    this.#word ??= new Int32Array(new SharedArrayBuffer(4))
    Atomics.wait(this.#word, 0, 0, ms)
  }
}
