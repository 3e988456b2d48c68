// Sorts the errors of Redis and its clients into three kinds: refused, unknown and fatal.

import type { SluiceError } from '../../core/errors.ts'
import { messageOf, type StoreErrorKind, sortedError } from '../../engines/store-errors.ts'

/**
 * Errors of commands that were not executed. The same command may work in a moment. Messages of Redis are compared at their
 * start, because scripts append to them. Messages of clients about commands that they have not written follow.
 */
const NOT_EXECUTED = new RegExp(
  `^(?:${[
    '(?:NOSCRIPT|LOADING|READONLY|MOVED|ASK|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|NOREPLICAS|OOM|BUSY|MISCONF)\\b',
    '(?:connect )?ECONNREFUSED|getaddrinfo (?:ENOTFOUND|EAI_AGAIN)',
    // ioredis and iovalkey
    "Stream isn't writeable|Cluster isn't ready|Failed to refresh slots cache|None of startup nodes is available",
    // node-redis
    'The client is (?:closed|offline)|The queue is full|All the root nodes are unavailable|Timeout waiting for a client',
    // valkey-glide
    'Unable to execute requests; the client is closed',
  ].join('|')})`,
)

/** Errors about the program, the rights or the data. Repeating the command does not help. */
const FATAL = new RegExp(
  `^(?:${[
    '(?:NOPERM|NOAUTH|WRONGPASS|WRONGTYPE|CROSSSLOT)\\b',
    "ERR (?:unknown command|Error compiling|The user executing the script can't run)",
    'sluice:',
  ].join('|')})`,
)

export function isNoScript(error: unknown): boolean {
  return messageOf(error).startsWith('NOSCRIPT')
}

/** Sorts an error of Redis or of its client. An error that nobody has seen before is `unknown`. */
export function redisErrorKind(error: unknown): StoreErrorKind {
  const message = messageOf(error)
  if (FATAL.test(message)) return 'fatal'
  return NOT_EXECUTED.test(message) ? 'refused' : 'unknown'
}

/**
 * Makes the error of one call in a command. The call wrote nothing, and Redis has decided the other calls. So the error is a
 * refusal of Redis, or is about the value that the call read.
 */
export function callError(error: Error): SluiceError {
  return sortedError(error, () => (redisErrorKind(error) === 'refused' ? 'refused' : 'fatal'), 'fatal')
}
