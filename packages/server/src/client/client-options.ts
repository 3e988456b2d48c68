// Options of a client, and their defaults.

import { ClientError } from './client-error.ts'
import type { TransportOptions } from './transport.ts'

export interface ClientOptions {
  /** `http://…`, `https://…`, or `unix:` and the path of a socket. Default: http://127.0.0.1:8080. */
  readonly url?: string | undefined
  readonly apiKey?: string | undefined
  /** Deadline of every call. Default: 500. */
  readonly timeoutMs?: number
  /** The decision if the service cannot be asked. Default: `throw`. */
  readonly then?: 'allow' | 'deny' | 'throw'
  /** True to retry a refused connection until the deadline. Default: true. */
  readonly retry?: boolean
  /** True to send the checks of one turn of the event loop in one request. Default: true. */
  readonly batch?: boolean
  /** Maximum number of connections; further calls wait. Default: 32. */
  readonly maxConnections?: number
}

export interface ReadOptions extends TransportOptions {
  readonly then: 'allow' | 'deny' | 'throw'
  readonly batch: boolean
}

const KNOWN = ['url', 'apiKey', 'timeoutMs', 'then', 'retry', 'batch', 'maxConnections']
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1

export function readOptions(options: ClientOptions): ReadOptions {
  const unknown = Object.keys(options).find((name) => !KNOWN.includes(name))
  if (unknown !== undefined) refuse(`there is no option ${unknown}: the options are ${KNOWN.join(', ')}`)
  const { url = 'http://127.0.0.1:8080', apiKey, timeoutMs = 500, then = 'throw' } = options
  const { retry = true, batch = true, maxConnections = 32 } = options
  holdAddress(url)
  if (apiKey !== undefined && (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey))) {
    refuse(
      'apiKey must be a key that the service created: it is empty, or contains a space or another character that keys do not have',
    )
  }
  holdWhole('timeoutMs', timeoutMs, LONGEST_TIMEOUT_MS)
  holdWhole('maxConnections', maxConnections, Number.MAX_SAFE_INTEGER)
  if (!['allow', 'deny', 'throw'].includes(then)) refuse(`then must be 'allow', 'deny' or 'throw', got ${JSON.stringify(then)}`)
  for (const [name, value] of Object.entries({ retry, batch })) {
    if (typeof value !== 'boolean') refuse(`${name} must be true or false, got ${JSON.stringify(value)}`)
  }
  return { url, apiKey, timeoutMs, then, retry, batch, maxConnections }
}

function holdAddress(url: string): void {
  if (/^unix:./.test(url)) return
  const parts = URL.canParse(url) ? new URL(url) : undefined
  if (parts?.password || parts?.username) refuse('url must not contain a user name or a password: pass the key as apiKey')
  const isHttp = parts?.protocol === 'http:' || parts?.protocol === 'https:'
  if (!isHttp || parts.search !== '' || parts.hash !== '') {
    refuse(`url must be http://…, https://… or unix:/…, without a query, got ${JSON.stringify(url)}`)
  }
}

function holdWhole(name: string, value: number, most: number): void {
  if (!Number.isSafeInteger(value) || value < 1 || value > most)
    refuse(`${name} must be a whole number from 1 to ${most}, got ${value}`)
}

function refuse(message: string): never {
  throw new ClientError('ERR_OPTION', message)
}
