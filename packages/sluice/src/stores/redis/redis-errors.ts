// Sorts the errors of Redis and its clients into three kinds: refused, unknown and fatal.

import type { SluiceError } from '../../core/errors.ts'
import { MOVED } from '../../engines/scripted.ts'
import { messageOf, type StoreErrorKind, sortedError } from '../../engines/store-errors.ts'

/**
 * Errors of commands that were not executed. The same command may work in a moment. Messages of Redis are compared at their
 * start, because scripts append to them. Messages of clients about commands that they have not written follow.
 */
const NOT_EXECUTED = new RegExp(
  `^(?:${[
    '(?:NOSCRIPT|LOADING|READONLY|MOVED|ASK|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|NOREPLICAS|OOM|BUSY|MISCONF)\\b',
    '(?:ERR )?(?:Lua script|Script) attempted to (?:execute|access) .* while the cluster is down',
    '(?:connect )?ECONNREFUSED|getaddrinfo (?:ENOTFOUND|EAI_AGAIN)',
    // ioredis and iovalkey
    "Stream isn't writeable|Cluster isn't ready|Failed to refresh slots cache|None of startup nodes is available",
    // node-redis
    'Too many Cluster redirections$|Cannot find node |The client is (?:closed|offline)|The queue is full|All the root nodes are unavailable|Timeout waiting for a client',
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

/** Errors of a script about a key that its node does not have. */
const NOT_HERE = /^(?:(?:MOVED|ASK|TRYAGAIN)\b|(?:ERR )?(?:Lua script|Script) attempted to access a non local key)/

/** Errors of servers and proxies that forbid a script to use keys which are not declared, or keys of several slots. */
const SEPARATE_SLOTS =
  /undeclared key|do not hash to the same slot|^CROSSSLOT|passed using the KEYS array|number of keys can't be (?:negative or )?zero/

/** True if the error means that a script may use only declared keys of one slot. */
export function needsSeparateSlots(error: unknown): boolean {
  return SEPARATE_SLOTS.test(messageOf(error))
}

/** True if a slot is on another node for good. */
export function isMoved(error: unknown): boolean {
  return messageOf(error).startsWith('MOVED ')
}

/** Returns the address of the node that must be asked, because a slot is moving there. */
export function askedNode(error: unknown): string | undefined {
  return /^ASK \d+ (\S+)/.exec(messageOf(error))?.[1]
}

export function isNoScript(error: unknown): boolean {
  return messageOf(error).startsWith('NOSCRIPT')
}

/** Sorts an error of Redis or of its client. An error that nobody has seen before is `unknown`. */
export function redisErrorKind(error: unknown): StoreErrorKind {
  const message = messageOf(error)
  if (FATAL.test(message) || SEPARATE_SLOTS.test(message)) return 'fatal'
  return NOT_EXECUTED.test(message) ? 'refused' : 'unknown'
}

/**
 * Makes the answer to one call that failed in a command. Redis has decided the other calls. If the call wrote nothing, the error is
 * a refusal of Redis, or is about the value that the call read. A call that was written partly may have been counted.
 */
export function failedAnswer(error: Error): SluiceError | typeof MOVED {
  if (error.message.startsWith('PARTLY ')) return sortedError(error, () => 'unknown', 'unknown')
  if (NOT_HERE.test(error.message)) return MOVED
  return sortedError(error, () => (redisErrorKind(error) === 'refused' ? 'refused' : 'fatal'), 'fatal')
}
