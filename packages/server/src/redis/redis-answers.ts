// Asks Redis within a deadline, and says in words what went wrong: a Redis that refuses is not one that does not answer.

import { setTimeout as pause } from 'node:timers/promises'
import type { SendCommand } from 'sluice/redis'
import { messageOf, ServerError } from '../errors.ts'

/** Time that Redis has for an answer. */
const DEADLINE_MS = 2000

/** Answers of a Redis that is there and does not let this user in, or not do this. */
const LOGIN_REFUSED = /\b(WRONGPASS|NOAUTH|NOPERM)\b/

/** An answer of Redis that is an error begins with its kind in capitals. */
const REFUSED = /^[A-Z]{3,} /

export async function askRedis(send: SendCommand, key: string, command: readonly string[]): Promise<unknown> {
  const deadline = new AbortController()
  const late = pause(DEADLINE_MS, undefined, { ref: false, signal: deadline.signal }).then(
    () => Promise.reject(new Error(`no answer within ${DEADLINE_MS} ms, so a change may have been made`)),
    () => {},
  )
  try {
    return await Promise.race([send(key, command), late])
  } catch (error) {
    throw new ServerError('ERR_DATA_WRITE', `Redis could not be asked: ${messageOf(error)}`, { cause: error })
  } finally {
    deadline.abort()
  }
}

/** The trouble with Redis, as the start of a sentence. */
export function redisTrouble(error: unknown): string {
  const message = messageOf(error instanceof ServerError ? error.cause : error)
  if (LOGIN_REFUSED.test(message)) return `Redis refuses the login (${message})`
  return REFUSED.test(message) ? `Redis refuses (${message})` : 'Redis does not answer'
}
