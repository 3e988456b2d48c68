// The pace of retries of a change that lost against a change of another instance.
// Invariant: retries end after LONGEST_MS.
// A commit that conflicts has read all changes of the others. So the retry follows at once: after a pause it would be outdated again,
// and an instance that commits without pauses would win for ever. Only a run of lost retries is followed by a pause, which grows.

import { setTimeout as pause } from 'node:timers/promises'
import { ServerError } from '../errors.ts'

/** Shorter than the deadline of most callers. */
const LONGEST_MS = 8000

/** Retries without a pause between them. */
const RUN = 4

/** Bounds of the random pause after each run. The bound doubles with each run. */
const FIRST_PAUSE_MS = 2
const LONGEST_PAUSE_MS = 100

export class RetryPace {
  readonly #endMs = performance.now() + LONGEST_MS
  #lost = 0

  /** Called after each lost attempt. Resolves to false if there is no time for another one. */
  async mayRetry(): Promise<boolean> {
    this.#lost += 1
    if (performance.now() > this.#endMs) return false
    const most = Math.min(FIRST_PAUSE_MS * 2 ** (this.#lost / RUN), LONGEST_PAUSE_MS)
    if (this.#lost % RUN === 0) await pause(Math.random() * most)
    return true
  }
}

export function isConflict(error: unknown): boolean {
  return error instanceof ServerError && error.code === 'ERR_CONFLICT'
}
