// Every error of Redis or its client, sorted once: certainly not executed, perhaps executed, or never going to work.

import { SluiceError } from '../../core/errors.ts'

/**
 * Refused before anything was done; the same command may work in a moment. Redis' own words are matched at the start, as
 * scripts add to the end; then what clients say of a command that they have not written.
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

/** The program, the rights or the data are wrong, and will be tomorrow. */
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

export function storeError(error: unknown): SluiceError {
  if (error instanceof SluiceError) return error
  const message = messageOf(error)
  if (FATAL.test(message)) {
    return new SluiceError('ERR_STORE_FATAL', `Redis cannot be used like this: ${message}`, { cause: error })
  }
  if (NOT_EXECUTED.test(message)) return new SluiceError('ERR_STORE_REFUSED', `Redis refused: ${message}`, { cause: error })
  return new SluiceError('ERR_STORE_UNKNOWN', `Redis did not answer, and may have counted: ${message}`, { cause: error })
}

/**
 * An error that the program met in one call of a command, before it wrote anything: Redis is there, and has decided the other calls.
 * So it is a refusal of Redis, or about the value that the call looked at.
 */
export function callError(error: Error): SluiceError {
  const sorted = storeError(error)
  if (sorted.code !== 'ERR_STORE_UNKNOWN') return sorted
  return new SluiceError('ERR_STORE_FATAL', `Redis could not decide this call, and counted nothing: ${error.message}`, {
    cause: error,
  })
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // Where a name has several addresses, Node's error has a code and no message.
  return error.message || String((error as NodeJS.ErrnoException).code)
}
