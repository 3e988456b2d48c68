// Sends commands to Redis with a deadline, and describes failures: "Redis refuses" is not "Redis does not answer".

import { setTimeout as pause } from 'node:timers/promises'
import { ClientClosedError, ClientOfflineError } from '@redis/client'
import type { SendCommand } from 'sluice/redis'
import { messageOf, ServerError } from '../../errors.ts'

/** Deadline for a reply. */
const DEADLINE_MS = 2000

/** Error replies about the login or missing permissions. */
const LOGIN_REFUSED = /\b(WRONGPASS|NOAUTH|NOPERM)\b/

/** An error reply begins with its kind in capitals. */
const REFUSED = /^[A-Z]{3,} /

export async function askRedis(send: SendCommand, key: string, command: readonly string[]): Promise<unknown> {
  const deadline = new AbortController()
  const late = pause(DEADLINE_MS, undefined, { ref: false, signal: deadline.signal }).then(
    () => Promise.reject(new Error(`no answer within ${DEADLINE_MS} ms`)),
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

/** For the error of a command that changes something. Throws ERR_DATA_UNKNOWN if Redis may have executed it. */
export function orUnknown(error: ServerError): never {
  const { cause, message } = error
  const isNotSent = cause instanceof ClientOfflineError || cause instanceof ClientClosedError
  throw isNotSent || REFUSED.test(messageOf(cause)) ? error : new ServerError('ERR_DATA_UNKNOWN', message, { cause })
}

/** Describes a failure of Redis, as the start of a sentence. */
export function redisTrouble(error: unknown): string {
  const message = messageOf(error instanceof ServerError ? error.cause : error)
  if (LOGIN_REFUSED.test(message)) return `Redis refuses the login (${message})`
  return REFUSED.test(message) ? `Redis refuses (${message})` : 'Redis does not answer'
}
