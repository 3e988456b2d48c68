// A change that another instance's change came before is tried again, now held against what that one made.
// What must stay true: changes that have to be tried again go one after the other, so that they do not fail each other.

import { setTimeout as pause } from 'node:timers/promises'
import { ServerError } from '../errors.ts'

const TRIES = 20

/** So that two instances do not meet again and again. */
const LONGEST_PAUSE_MS = 20

let turn: Promise<unknown> = Promise.resolve()

export async function againOnConflict<T>(change: () => Promise<T>): Promise<T> {
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
