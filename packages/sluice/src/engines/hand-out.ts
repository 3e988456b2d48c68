// When answers are handed to their callers. Replies to large commands often come several at once. Were all handed out at once, all
// that their callers ask next would be written at once too, and Redis would be idle until then. So after each the client gets a
// turn to write, and Redis decides what it wrote while the next is handed out.
// Invariants: replies are handed out in the order they came; none waits unless a large one was handed out just now; and none waits
// for long, as the deadlines of its calls go on.

/** From so many answers on a reply is large: handing them out takes longer than the turn that comes after it. */
const LARGE = 32

/** Once a reply has waited for so long, this process is behind: all that wait are handed out without turns between them. */
const LONGEST_WAIT_MS = 5

interface Reply {
  readonly answers: number
  readonly cameMs: number
  readonly give: () => void
}

export class HandOut {
  readonly #waiting: Reply[] = []
  /** Whether a large reply was handed out and the client has not had its turn yet. */
  #isPausing = false

  /** Calls `give`, which hands out a reply of so many answers: now, or when it is its turn. */
  add(answers: number, give: () => void): void {
    const reply = { answers, cameMs: performance.now(), give }
    if (this.#isPausing && (answers >= LARGE || this.#waiting.length > 0)) this.#waiting.push(reply)
    else this.#handOut(reply)
  }

  #handOut({ answers, give }: Reply): void {
    if (answers >= LARGE) {
      this.#isPausing = true
      // What callers ask on hearing their answers is written by an immediate at the latest, and that comes before the second here.
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
