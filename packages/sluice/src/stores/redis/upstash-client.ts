// The client `@upstash/redis`. Commands go to its requester, below automatic pipelining and deserialisation: these would put
// several commands into one request, and turn the program's text into numbers.

import { SluiceError } from '../../core/errors.ts'
import { sortedError } from '../../engines/store-errors.ts'
import type { Connection } from './redis-client.ts'
import { isNoScript, redisErrorKind } from './redis-errors.ts'
import { fetchError, upstashError } from './upstash-errors.ts'

export interface UpstashClient {
  evalsha(...args: never[]): Promise<unknown>
  pipeline(): object
}

/** The part of the client that sends requests. */
interface Requester {
  request(request: { readonly body: readonly string[] }): Promise<{ readonly result?: unknown; readonly error?: string }>
  readonly retry?: { readonly attempts?: number }
}

export function isUpstash(client: object): client is UpstashClient {
  return typeof requesterOf(client)?.request === 'function'
}

export function upstash(client: UpstashClient): Connection {
  const requester = requesterOf(client) as Requester
  // Number of times that a request is sent again if its answer was lost. With `retry: false` it is 1.
  const resends = requester.retry?.attempts !== 0
  return {
    async send(_key, command) {
      const { result, error } = await requester.request({ body: command }).catch((thrown: unknown) => {
        throw certain(errorOf(thrown), resends)
      })
      if (error !== undefined) throw certain(upstashError(error), resends)
      return result
    },
    isReady: () => true,
    isCluster: false,
    resends,
    keyPrefix: '',
    overlaps: false,
  }
}

function requesterOf(client: object): Requester | undefined {
  return (client as { readonly client?: Requester } | null)?.client
}

/** The client appends the whole command to the text of Upstash. */
const COMMAND = /, command was: \[.*$/s

function errorOf(thrown: unknown): Error {
  if (!(thrown instanceof Error) || thrown.name !== 'UpstashError') return fetchError(thrown)
  return upstashError(thrown.message.replace(COMMAND, ''))
}

/**
 * A refusal is certain only if the request was sent once. A client that resends shows the last error, and may have lost the answer
 * of an earlier request. The batch sends commands with a missing program again, with a number that the program recognises.
 */
function certain(error: Error, resends: boolean): Error {
  if (!resends || isNoScript(error)) return error
  const sorted = sortedError(error, redisErrorKind, 'unknown')
  if (sorted.code !== 'ERR_STORE_REFUSED') return error
  const message = `the client may have sent this command before, so the call may have been counted: ${sorted.message}`
  return new SluiceError('ERR_STORE_UNKNOWN', message, { cause: error })
}
