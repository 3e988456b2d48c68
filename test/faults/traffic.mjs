// Steady traffic on all subjects at once: each is hit so many times a second, whatever becomes of the hits.

/** @import { Subject } from './subject.mjs' */

const EVERY_MS = 5

/** After a stall not all that was missed is made up for at once. */
const MOST_AT_ONCE = 20

export class Traffic {
  /** @type {NodeJS.Timeout | undefined} */
  #timer

  /**
   * @param {readonly Subject[]} subjects
   * @param {number} perSecond hits on each
   */
  constructor(subjects, perSecond) {
    this.subjects = subjects
    this.perSecond = perSecond
  }

  start() {
    const startMs = performance.now()
    let sent = 0
    this.#timer = setInterval(() => {
      const due = Math.floor(((performance.now() - startMs) * this.perSecond) / 1000)
      for (let i = 0; i < Math.min(due - sent, MOST_AT_ONCE); i++) {
        for (const subject of this.subjects) subject.hit()
      }
      sent = due
    }, EVERY_MS)
  }

  async stop() {
    clearInterval(this.#timer)
    await Promise.all(this.subjects.map((subject) => subject.settle()))
  }
}
