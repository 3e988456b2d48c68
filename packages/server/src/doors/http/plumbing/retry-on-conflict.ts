// Retries a change that lost against a change of another instance. The retry validates against the new data.
// Invariant: retries run one after the other, so that they do not make each other fail.

import { setTimeout as pause } from 'node:timers/promises'
import { ServerError } from '../../../errors.ts'

const TRIES = 20

/** A random pause up to this length keeps two instances from colliding on every attempt. */
const LONGEST_PAUSE_MS = 20

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
  for (let left = TRIES; ; left--) {
    try {
      return await change()
    } catch (error) {
      if (!isConflict(error) || left === 1) throw error
      await pause(Math.random() * LONGEST_PAUSE_MS)
    }
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof ServerError && error.code === 'ERR_CONFLICT'
}
