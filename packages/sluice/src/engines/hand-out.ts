// Hands out the answers of a server. A reply holds the answers to all calls of one command.
// Several large replies often arrive at once. Callers make their next calls when they get an answer. If all replies were handed out
// in one turn, these calls would be sent only after the last reply, and the server would be idle until then. So after each large
// reply the client gets a turn to send calls. The server decides them while the next reply is handed out.
// Invariants: replies are handed out in the order in which they arrived. A reply waits only after a large reply, and for a few
// milliseconds at most, because the deadlines of its calls go on. Without setImmediate no reply waits.

import { endOfTurns, immediate } from './end-of-turn.ts'

/** A reply with so many answers is large: handing it out takes longer than the turn that follows. */
const LARGE = 32

/** If a reply has waited longer, all waiting replies are handed out at once, because the process is too slow for turns. */
const LONGEST_WAIT_MS = 5

interface Reply {
  readonly answers: number
  readonly cameMs: number
  readonly give: () => void
}

export class HandOut {
  readonly #waiting: Reply[] = []
  /** True from a large reply on until the client has had its turn. */
  #isPausing = false
  /** The function that ends the turns of the pause. */
  #awaited: unknown

  /** Calls `give`, which hands out one reply, now or later. `answers` is the number of answers in the reply. */
  add(answers: number, give: () => void): void {
    if (!this.#isPausing && answers < LARGE) return give()
    if (this.#isPausing && endOfTurns() !== this.#awaited) this.#goOn()
    const reply = { answers, cameMs: performance.now(), give }
    if (this.#isPausing && (answers >= LARGE || this.#waiting.length > 0)) this.#waiting.push(reply)
    else this.#handOut(reply)
  }

  #handOut({ answers, give }: Reply): void {
    const whenImmediate = answers >= LARGE ? immediate() : undefined
    if (whenImmediate !== undefined) {
      this.#isPausing = true
      this.#awaited = endOfTurns()
      // Calls of this turn are sent by an immediate. The second immediate here runs after it.
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
