// Retries a change that lost against a change of another instance. The retry validates against the new data.
// Invariant: retries run one after the other, so that they do not make each other fail. A change is retried for at most LONGEST_MS.
// A commit that conflicts has read all changes of the others. So the retry follows at once: after a pause it would be outdated again,
// and an instance that commits without pauses would win for ever. Only a run of lost retries is followed by a pause, which grows.

import { setTimeout as pause } from 'node:timers/promises'
import { ServerError } from '../../../errors.ts'

/** Shorter than the deadline of most callers. */
const LONGEST_MS = 5000

/** Retries without a pause between them. */
const RUN = 4

/** Bounds of the random pause after each run. It doubles with each run. */
const FIRST_PAUSE_MS = 2
const LONGEST_PAUSE_MS = 50

let turn: Promise<unknown> = Promise.resolve()

export async function retryOnConflict<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (error) {
    if (!isConflict(error)) throw error
    const tried = turn.then(() => tryAgain(change))
    turn = tried.catch(() => {})
    return tried
  }
}

async function tryAgain<T>(change: () => Promise<T>): Promise<T> {
  const endMs = performance.now() + LONGEST_MS
  for (let tries = 1; ; tries++) {
    try {
      return await change()
    } catch (error) {
      if (!isConflict(error) || performance.now() > endMs) throw error
      const most = Math.min(FIRST_PAUSE_MS * 2 ** (tries / RUN), LONGEST_PAUSE_MS)
      if (tries % RUN === 0) await pause(Math.random() * most)
    }
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof ServerError && error.code === 'ERR_CONFLICT'
}
