// Calm or fault: which answers can be held against an exact model. A calm begins when both instances use the store again and
// ends before the next fault begins.
// Invariant: a call is judged exactly only if it was sent and answered within one calm.

/**
 * A complaint that waits for the end of its calm: a machine that starves a process makes it answer without the store.
 * @typedef {{ kind: WrongKind, text: string }} Complaint
 */

/** @typedef {'answer' | 'change'} WrongKind */

/** Complaints that are printed. All are counted. */
const MOST_TOLD = 20

export class Weather {
  /** @type {string[]} */
  told = []
  wrong = { answer: 0, change: 0 }
  /** Complaints of calms in which the machine starved a process and an instance answered without the store. */
  excused = 0
  /** Number of such calms. */
  disturbed = 0
  /** Calls without the store in calms. */
  withoutStore = 0
  #startMs = performance.now()
  #segment = 0
  #isCalm = false
  #fault = 'start'
  /** @type {Complaint[]} */
  #pending = []

  get isCalm() {
    return this.#isCalm
  }

  /** The name of the fault, or 'calm'. */
  get name() {
    return this.#isCalm ? 'calm' : this.#fault
  }

  get elapsedMs() {
    return performance.now() - this.#startMs
  }

  /** Marks a moment. */
  mark() {
    return this.#isCalm ? this.#segment : -1
  }

  /**
   * True if there was one calm from the mark until now.
   * @param {number} mark
   */
  isSameCalm(mark) {
    return this.#isCalm && mark === this.#segment
  }

  beginCalm() {
    this.#segment += 1
    this.#isCalm = true
  }

  /**
   * Ends a calm and decides on its complaints.
   * @param {string} fault the fault that follows
   * @param {{ withoutStore: number, isStarved: boolean }} calm
   */
  endCalm(fault, { withoutStore, isStarved }) {
    this.#isCalm = false
    this.withoutStore += withoutStore
    const pending = this.#pending
    this.#pending = []
    if (withoutStore > 0 && isStarved) {
      this.excused += pending.length
      this.disturbed += 1
    } else {
      if (withoutStore > 0) this.complain('answer', `${withoutStore} calls without the store, though nothing was done to it`)
      for (const { kind, text } of pending) this.#tell(kind, text)
    }
    this.#fault = fault
  }

  /**
   * Notes what is wrong whatever the weather.
   * @param {WrongKind} kind
   * @param {string} text
   */
  complain(kind, text) {
    this.#tell(kind, `${this.#when()}: ${text}`)
  }

  /**
   * Notes what is wrong unless the machine is to blame.
   * @param {WrongKind} kind
   * @param {string} text
   */
  complainOfCalm(kind, text) {
    this.#pending.push({ kind, text: `${this.#when()}: ${text}` })
  }

  #when() {
    return `${(this.elapsedMs / 1000).toFixed(1)} s, ${this.name}`
  }

  /**
   * @param {WrongKind} kind
   * @param {string} text
   */
  #tell(kind, text) {
    this.wrong[kind] += 1
    if (this.told.length < MOST_TOLD) this.told.push(text)
  }
}
