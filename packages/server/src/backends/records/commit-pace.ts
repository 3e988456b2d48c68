// Leaves time between the commits of an instance while other instances make changes too.
// Invariant: an instance that commits without end does not shut the others out. A commit that lost against another one reads the new
// changes and is sent again, which takes about two round trips. The winner waits for that long before its next commit.
// Without changes of others there is no wait.

import { setTimeout as pause } from 'node:timers/promises'

/** Others count as active for this long after a change of theirs. */
const ACTIVE_MS = 1000

/** Shortest and longest time between two commits. Within these, it is random, around the duration of the last commit. */
const LEAST_MS = 2
const MOST_MS = 250

export class CommitPace {
  /** Time at which a change of another instance was last seen. */
  #othersMs = Number.NEGATIVE_INFINITY
  /** Time at which the next commit may be sent, while others are active. */
  #nextMs = 0

  sawOthers(): void {
    this.#othersMs = performance.now()
  }

  /** Called after a commit of this instance that began at `startMs`. */
  committed(startMs: number): void {
    const nowMs = performance.now()
    const gapMs = (nowMs - startMs) * (0.5 + Math.random())
    this.#nextMs = nowMs + Math.min(Math.max(gapMs, LEAST_MS), MOST_MS)
  }

  /** Waits until the next commit may be sent. */
  async wait(): Promise<void> {
    const nowMs = performance.now()
    if (nowMs - this.#othersMs > ACTIVE_MS || nowMs >= this.#nextMs) return
    await pause(this.#nextMs - nowMs)
  }
}
