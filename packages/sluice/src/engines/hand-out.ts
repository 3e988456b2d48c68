// Hands replies to their callers. Several replies to large commands often arrive at once. If all were handed out at once, the
// server would be idle until the callers' next calls are written. So the client gets a turn to write after each large reply, and
// the server decides these calls while the next reply is handed out.
// Invariants: replies are handed out in the order in which they arrived. A reply waits only just after a large reply, and never
// for long, because the deadlines of its calls go on. Without setImmediate no reply waits.

import { immediate } from './end-of-turn.ts'

/** The fewest answers of a large reply. Handing out a large reply takes longer than the turn after it. */
const LARGE = 32

/**
 * If a reply has waited longer than this, the process is too slow: all waiting replies are handed out without turns in between.
 */
const LONGEST_WAIT_MS = 5

interface Reply {
  readonly answers: number
  readonly cameMs: number
  readonly give: () => void
}

export class HandOut {
  readonly #waiting: Reply[] = []
  /** True if a large reply was handed out and the client has not had its turn yet. */
  #isPausing = false

  /** Calls `give` now or later. `give` hands out a reply with the given number of answers. */
  add(answers: number, give: () => void): void {
    const reply = { answers, cameMs: performance.now(), give }
    if (this.#isPausing && (answers >= LARGE || this.#waiting.length > 0)) this.#waiting.push(reply)
    else this.#handOut(reply)
  }

  #handOut({ answers, give }: Reply): void {
    const whenImmediate = answers >= LARGE ? immediate() : undefined
    if (whenImmediate !== undefined) {
      this.#isPausing = true
      // The callers' next calls are written in an immediate at the latest, and that runs before the second immediate here.
      whenImmediate(() => whenImmediate(() => this.#goOn()))
    }
    give()
  }

  #goOn(): void {
    this.#isPausing = false
    const isBehind = this.#waiting.length > 0 && performance.now() - this.#waiting[0].cameMs > LONGEST_WAIT_MS
    if (isBehind) for (const { give } of this.#waiting.splice(0)) give()
    while (!this.#isPausing && this.#waiting.length > 0) this.#handOut(this.#waiting.shift() as Reply)
  }
}
