// Hands replies to their callers. Replies to large commands often come several at once. If all were handed out at once, the next
// calls of their callers would be written at once too, and the server would be idle until then. So after each large reply the
// client gets a turn to write, and the server decides these calls while the next reply is handed out.
// Invariants: replies are handed out in the order they came; none waits unless a large one was handed out just now; and none waits
// for long, as the deadlines of its calls go on.

/** A reply with so many answers is large: to hand them out takes longer than the turn that comes after it. */
const LARGE = 32

/** If a reply has waited for so long, this process is behind: all waiting replies are handed out without turns between them. */
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

  /** Calls `give`, which hands out a reply with so many answers, now or later. */
  add(answers: number, give: () => void): void {
    const reply = { answers, cameMs: performance.now(), give }
    if (this.#isPausing && (answers >= LARGE || this.#waiting.length > 0)) this.#waiting.push(reply)
    else this.#handOut(reply)
  }

  #handOut({ answers, give }: Reply): void {
    if (answers >= LARGE) {
      this.#isPausing = true
      // The next calls of these callers are written by an immediate at the latest, and that comes before the second one here.
      setImmediate(() => setImmediate(() => this.#goOn()))
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
