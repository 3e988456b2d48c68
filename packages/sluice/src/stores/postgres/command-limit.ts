// The longest time of commands. One timer serves all of them, because nearly every command ends long before.
// Invariant: a command that has not settled is given up after LONGEST_MS, and at most CHECK_EVERY_MS later. Its time includes the wait
// for earlier ones on its rows.

import { LONGEST_MS } from './transaction-mode.ts'

const CHECK_EVERY_MS = 500

interface Running {
  readonly startMs: number
  readonly giveUp: () => void
}

export class CommandLimit {
  /** In the order of their starts. */
  readonly #running = new Set<Running>()
  #isChecking = false

  /** Runs a command. If it takes too long, calls `makeError` and rejects with its result. */
  run<V>(command: () => Promise<V>, makeError: () => Error): Promise<V> {
    return new Promise((resolve, reject) => {
      const running: Running = { startMs: performance.now(), giveUp: () => reject(makeError()) }
      this.#running.add(running)
      this.#check()
      const end = (): void => {
        this.#running.delete(running)
      }
      command().then(
        (value) => {
          end()
          resolve(value)
        },
        (error: unknown) => {
          end()
          reject(error)
        },
      )
    })
  }

  /** Starts the timer unless it runs. It does not keep the process alive: sockets do, as long as a command waits. */
  #check(): void {
    if (this.#isChecking) return
    this.#isChecking = true
    const timer = setTimeout(() => {
      this.#isChecking = false
      const overMs = performance.now() - LONGEST_MS
      for (const running of this.#running) {
        if (running.startMs > overMs) break
        this.#running.delete(running)
        running.giveUp()
      }
      if (this.#running.size > 0) this.#check()
    }, CHECK_EVERY_MS)
    const { unref } = timer as { unref?: () => unknown }
    unref?.call(timer)
  }
}
