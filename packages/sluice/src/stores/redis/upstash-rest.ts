// Upstash's REST API over fetch: one POST for each command. It needs no sockets, so it works on Cloudflare Workers.
// Invariants: a request is sent once, and ends after `timeoutMs`. No error contains the token.

import { SluiceError, show } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import { isWhole } from '../../core/whole-numbers.ts'
import type { Connection } from './redis-client.ts'
import { fetchError, upstashError } from './upstash-errors.ts'

/** The REST API of a database, as Upstash's console shows it. */
export interface UpstashRest {
  /** The address, such as `https://name.upstash.io`. */
  readonly url: string
  readonly token: string
  /** The longest time of a request. After it the request is aborted. Default: 5,000. */
  readonly timeoutMs?: number
}

const OPTIONS = ['url', 'token', 'timeoutMs'] as const

const DEFAULT_TIMEOUT_MS = 5000
/** The longest delay of a timer. */
const MOST_TIMEOUT_MS = 2 ** 31 - 1

/** Larger than every answer to 1,024 calls, and to a SCAN of 1,000 names. */
const MOST_ANSWER_BYTES = 4 * 1024 * 1024

/** The longest text of an answer that an error shows. */
const LONGEST_TEXT = 300

/** Statuses of requests that Upstash did not execute and never will. */
const NOT_ACCEPTED: Readonly<Record<number, string>> = {
  401: 'it does not accept the token',
  403: 'it does not allow this request',
  404: 'there is no REST API at this address',
  405: 'there is no REST API at this address',
  413: 'the request is too large',
}

export function isUpstashRest(client: object): client is UpstashRest {
  return typeof client === 'object' && client !== null && ('url' in client || 'token' in client)
}

export function upstashRest(rest: UpstashRest): Connection {
  checkOptions('redisStore', rest, OPTIONS)
  const { url, token, timeoutMs = DEFAULT_TIMEOUT_MS } = rest
  const address = addressOf(url)
  // The values are not shown: an address with a token in it, or a token in the place of the address, is a frequent mistake.
  if (typeof token !== 'string' || !/^[!-~]{1,4096}$/.test(token)) {
    const message = 'redisStore needs token to be the REST token of the database: visible ASCII characters, without spaces'
    throw new SluiceError('ERR_OPTION', message, { option: 'token' })
  }
  if (!isWhole(timeoutMs, 1, MOST_TIMEOUT_MS)) {
    const message = `redisStore needs timeoutMs to be a whole number from 1 to ${MOST_TIMEOUT_MS}, got ${show(timeoutMs)}`
    throw new SluiceError('ERR_OPTION', message, { option: 'timeoutMs', value: timeoutMs })
  }
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
  return {
    async send(_key, command) {
      const { status, text } = await fetch(address, {
        method: 'POST',
        headers,
        body: JSON.stringify(command),
        // A redirection could take the token elsewhere.
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
      })
        .then(readAnswer)
        .catch((error: unknown) => Promise.reject(error instanceof SluiceError ? error : fetchError(error)))
      return resultOf(status, text, token)
    },
    isReady: () => true,
    isCluster: false,
    resends: false,
    keyPrefix: '',
    overlaps: false,
  }
}

function addressOf(url: unknown): string {
  try {
    const { href, protocol, username, password, search, hash } = new URL(url as string)
    const isHttp = protocol === 'https:' || protocol === 'http:'
    if (typeof url === 'string' && isHttp && `${username}${password}${search}${hash}` === '') return href
  } catch {
    // The text is no address. The error below says so.
  }
  const message =
    'redisStore needs url to be the REST address of a database, such as https://name.upstash.io, ' +
    'without user name, query and fragment; redis: and rediss: addresses are for other clients'
  throw new SluiceError('ERR_OPTION', message, { option: 'url' })
}

async function readAnswer(response: Response): Promise<{ readonly status: number; readonly text: string }> {
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  let text = ''
  for (let bytes = 0; reader !== undefined; ) {
    const { done, value } = await reader.read()
    if (done) break
    bytes += value.byteLength
    if (bytes > MOST_ANSWER_BYTES) {
      reader.cancel().catch(() => {})
      const message = `Upstash answered with more than ${MOST_ANSWER_BYTES} bytes, so the call may have been counted`
      throw new SluiceError('ERR_STORE_UNKNOWN', message)
    }
    text += decoder.decode(value, { stream: true })
  }
  return { status: response.status, text: text + decoder.decode() }
}

function resultOf(status: number, text: string, token: string): unknown {
  const { result, error } = bodyOf(text)
  const said = typeof error === 'string' ? error.replaceAll(token, '(token)').slice(0, LONGEST_TEXT) : ''
  const why = status < 200 || (status >= 300 && status < 400) ? 'this address redirects' : NOT_ACCEPTED[status]
  if (why !== undefined) {
    throw new SluiceError('ERR_STORE_FATAL', `Upstash answered with status ${status}: ${why}${said && `: ${said}`}`)
  }
  if (status === 429) throw new SluiceError('ERR_STORE_REFUSED', `Upstash refused: too many requests${said && `: ${said}`}`)
  if (said !== '') throw upstashError(said)
  if (status === 200 && result !== undefined) return result
  throw new Error(`Upstash answered with status ${status} and no result`)
}

/** Returns the members of a JSON object. A text of another kind, such as the page of a proxy, has none. */
function bodyOf(text: string): { readonly result?: unknown; readonly error?: unknown } {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}
