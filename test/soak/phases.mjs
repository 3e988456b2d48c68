// The phases of a soak: calm or fault. A calm begins when both instances use the store again, and ends before the next fault
// begins. Only answers in calms can be compared with an exact model.
// Invariant: a call is judged exactly only if it was sent and answered within one calm.

/**
 * A complaint that is decided at the end of its calm. If the machine starves a process, the process decides without the store.
 * @typedef {{ kind: WrongKind, text: string }} Complaint
 */

/** @typedef {'answer' | 'change'} WrongKind */

/** Largest number of complaints that are printed. All are counted. */
const MOST_PRINTED = 20

export class Phases {
  /** @type {string[]} */
  printed = []
  wrong = { answer: 0, change: 0 }
  /** Complaints of calms in which the machine starved a process and an instance decided without the store. */
  excused = 0
  /** Number of such calms. */
  disturbed = 0
  /** Calls without the store during calms. */
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

  /** Returns a mark of the current phase. */
  mark() {
    return this.#isCalm ? this.#segment : -1
  }

  /**
   * True if the current calm has lasted since the mark.
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
      for (const { kind, text } of pending) this.#record(kind, text)
    }
    this.#fault = fault
  }

  /**
   * Records a complaint that counts in every phase.
   * @param {WrongKind} kind
   * @param {string} text
   */
  complain(kind, text) {
    this.#record(kind, `${this.#when()}: ${text}`)
  }

  /**
   * Records a complaint that counts unless the machine disturbed the calm.
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
  #record(kind, text) {
    this.wrong[kind] += 1
    if (this.printed.length < MOST_PRINTED) this.printed.push(text)
  }
}
