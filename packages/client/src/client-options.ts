// Options of a client, and their defaults.

import { ClientError } from './client-error.ts'

/** The decision if the service cannot be asked. `FailureOptions.then` explains each value. */
export type Fallback = 'local' | 'allow' | 'deny' | 'throw'

/** Decides on its own. A limiter of the library in memory is one: `createLimiter({ rules: parseRule('100/minute') })`. */
export interface StandIn {
  hit(key: string, options: { readonly cost: number }): StandInDecision
}

/** The fields of a limiter's decision that the client reads. */
export interface StandInDecision {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetAfterMs: number
  readonly retryable: boolean
}

/** As the option `failure` of a limiter of the library. */
export interface FailureOptions {
  /** Deadline of every call, in ms. Default: 500. */
  readonly timeoutMs?: number
  /**
   * The decision of a check or reserve if the service cannot be asked.
   * - `'local'`: `standIn` decides in this process, for each client and route.
   * - `'allow'` and `'deny'`: allowed or denied, and nothing is counted.
   * - `'throw'` (default): the call fails.
   */
  readonly then?: Fallback
  /** Number of failures in a row that open the breaker. While it is open, checks and reserves do not ask. Default: 5. */
  readonly failures?: number
  /** Time between two attempts to reach the service while the breaker is open, in ms. Default: 500. */
  readonly probeEveryMs?: number
  /** Decides under `'local'`, which needs it. */
  readonly standIn?: StandIn
}

/** Options that every client has. */
export interface SharedOptions {
  /** `http://…` or `https://…`. A path is put before the paths of the API. Default: http://127.0.0.1:8080. */
  readonly url?: string | undefined
  readonly apiKey?: string | undefined
  readonly failure?: FailureOptions
  /** True to retry a refused connection until the deadline. Default: true. */
  readonly retry?: boolean
  /** True to send the checks of one turn of the event loop in one request. Default: true. */
  readonly batch?: boolean
}

export type CheckedFailure = Required<Omit<FailureOptions, 'standIn'>> & Pick<FailureOptions, 'standIn'>

export interface CheckedOptions {
  readonly url: string
  readonly apiKey: string | undefined
  readonly failure: CheckedFailure
  readonly retry: boolean
  readonly batch: boolean
}

const SHARED = ['url', 'apiKey', 'failure', 'retry', 'batch']
const FAILURE = ['timeoutMs', 'then', 'failures', 'probeEveryMs', 'standIn']
const THEN = ['local', 'allow', 'deny', 'throw']

/** The longest time of a timer. */
const MOST_MS = 2 ** 31 - 1

/** Throws ERR_OPTION. `own` has the names of further options; with `unix`, the URL may name a socket. */
export function readOptions(options: SharedOptions, own: readonly string[], unix: boolean): CheckedOptions {
  holdNames('', options, [...SHARED, ...own])
  const { url = 'http://127.0.0.1:8080', apiKey, failure = {}, retry = true, batch = true } = options
  holdAddress(url, unix)
  if (apiKey !== undefined && (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey))) {
    refuse(
      'apiKey must be a key that the service created: it is empty, or contains a space or another character that keys do not have',
    )
  }
  for (const [name, value] of Object.entries({ retry, batch })) {
    if (typeof value !== 'boolean') refuse(`${name} must be true or false, got ${JSON.stringify(value)}`)
  }
  return { url, apiKey, failure: readFailure(failure), retry, batch }
}

function readFailure(options: FailureOptions): CheckedFailure {
  if (typeof options !== 'object' || options === null) refuse(`failure must be an object, got ${JSON.stringify(options)}`)
  holdNames('failure.', options, FAILURE)
  const { timeoutMs = 500, then = 'throw', failures = 5, probeEveryMs = 500, standIn } = options
  for (const [name, value] of Object.entries({ timeoutMs, failures, probeEveryMs })) holdWhole(`failure.${name}`, value, MOST_MS)
  if (!THEN.includes(then)) {
    refuse(`failure.then must be ${THEN.map((each) => `'${each}'`).join(' or ')}, got ${JSON.stringify(then)}`)
  }
  if ((then === 'local') !== (standIn !== undefined)) {
    refuse(
      then === 'local'
        ? "failure.then: 'local' needs failure.standIn: a limiter in memory, such as createLimiter({ rules: parseRule('100/minute') })"
        : `failure.standIn decides only with failure.then: 'local', got ${JSON.stringify(then)}`,
    )
  }
  if (standIn !== undefined && typeof standIn?.hit !== 'function') refuse('failure.standIn must be a limiter with hit()')
  return { timeoutMs, then, failures, probeEveryMs, ...(standIn && { standIn }) }
}

function holdNames(place: string, options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown !== undefined) refuse(`there is no option ${place}${unknown}: the options are ${known.join(', ')}`)
}

function holdAddress(url: string, unix: boolean): void {
  if (unix && /^unix:./.test(url)) return
  const parts = URL.canParse(url) ? new URL(url) : undefined
  if (parts?.password || parts?.username) refuse('url must not contain a user name or a password: pass the key as apiKey')
  const isHttp = parts?.protocol === 'http:' || parts?.protocol === 'https:'
  if (isHttp && parts.search === '' && parts.hash === '') return
  if (/^unix:/.test(url)) refuse(`url names a socket, which sluice-client/node can use, got ${JSON.stringify(url)}`)
  const forms = unix ? 'http://…, https://… or unix:/…' : 'http://… or https://…'
  refuse(`url must be ${forms}, without a query, got ${JSON.stringify(url)}`)
}

/** Throws ERR_OPTION unless the value is a whole number from 1 to `most`. */
export function holdWhole(name: string, value: number, most: number): void {
  if (!Number.isSafeInteger(value) || value < 1 || value > most)
    refuse(`${name} must be a whole number from 1 to ${most}, got ${value}`)
}

export function refuse(message: string): never {
  throw new ClientError('ERR_OPTION', message)
}
