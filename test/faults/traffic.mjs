// Steady traffic on all targets at the same time, at a fixed rate that does not depend on the results.

/** @import { Target } from './target.mjs' */

const EVERY_MS = 5

/** Upper bound on hits sent at once after a stall. */
const MOST_AT_ONCE = 20

export class Traffic {
  /** @type {NodeJS.Timeout | undefined} */
  #timer

  /**
   * @param {readonly Target[]} targets
   * @param {number} perSecond hits on each target
   */
  constructor(targets, perSecond) {
    this.targets = targets
    this.perSecond = perSecond
  }

  start() {
    const startMs = performance.now()
    let sent = 0
    this.#timer = setInterval(() => {
      const due = Math.floor(((performance.now() - startMs) * this.perSecond) / 1000)
      for (let i = 0; i < Math.min(due - sent, MOST_AT_ONCE); i++) {
        for (const target of this.targets) target.hit()
      }
      sent = due
    }, EVERY_MS)
  }

  async stop() {
    clearInterval(this.#timer)
    await Promise.all(this.targets.map((target) => target.settle()))
  }
}
