// Sessions of the dashboard: a cookie that stands for an API key, so that the key is typed once and not stored in the browser.
// Invariant: a session grants no more than its key and ends with it. Another site cannot make a browser use it. A key cannot end a
// session of another key.

import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { type CidrList, cidrList } from 'sluice/http'
import { ServerError } from '../../../errors.ts'
import { isValid } from '../../../keys/api-key.ts'
import type { ApiKey, KeyRing } from '../../../keys/key-ring.ts'
import { isSameOrigin } from './same-origin.ts'

/** A session ends after this time without use, and after this total time. */
const IDLE_MS = 30 * 60_000
const LONGEST_MS = 12 * 3_600_000

/** Maximum number of sessions of one key. The least recently used one is removed. */
export const SESSIONS_A_KEY = 20

/** Maximum number of sessions of all keys. Sessions of other keys are not removed, so above this a key without sessions gets none. */
export const MOST_SESSIONS = 10_000

const COOKIE = 'sluice_session'

/** With this prefix, browsers accept the cookie only over TLS and only from this host. */
const TLS_COOKIE = `__Host-${COOKIE}`

interface Session {
  readonly keyId: string
  readonly madeMs: number
  usedMs: number
}

export interface SessionsOptions {
  readonly keys: Pick<KeyRing, 'get'>
  /** Proxies whose X-Forwarded-Proto is trusted. */
  readonly trustedProxies: readonly string[]
  readonly now?: () => number
}

export class Sessions {
  readonly #keys: Pick<KeyRing, 'get'>
  readonly #trusted: CidrList
  readonly #now: () => number
  /** Sessions by the digest of the cookie's value, least recently used first. */
  readonly #sessions = new Map<string, Session>()

  constructor({ keys, trustedProxies, now = Date.now }: SessionsOptions) {
    this.#keys = keys
    this.#trusted = cidrList(trustedProxies)
    this.#now = now
  }

  /** Starts a session and ends the browser's previous one. Returns the Set-Cookie header. */
  start(request: IncomingMessage, { id }: ApiKey): string {
    this.#forget(request)
    this.#evictOldest(id)
    const value = randomBytes(32).toString('base64url')
    const nowMs = this.#now()
    this.#sessions.set(digest(value), { keyId: id, madeMs: nowMs, usedMs: nowMs })
    return this.#cookie(request, value, '')
  }

  /** Ends the session. Returns the Set-Cookie header that removes the cookie. */
  end(request: IncomingMessage): string {
    this.#forget(request)
    return this.#cookie(request, '', '; Max-Age=0')
  }

  /** True if the request's session is valid. This check does not count as use. */
  isValid(request: IncomingMessage): boolean {
    const value = cookieOf(request)
    const session = value === undefined ? undefined : this.#sessions.get(digest(value))
    return session !== undefined && this.#livingKey(session) !== undefined
  }

  /** Returns the key of the request's session, if it is valid. Throws ERR_FORBIDDEN if another site made the browser send the request. */
  keyOf(request: IncomingMessage): ApiKey | undefined {
    const value = cookieOf(request)
    if (value === undefined) return undefined
    const found = digest(value)
    const session = this.#sessions.get(found)
    if (session === undefined) return undefined
    const key = this.#livingKey(session)
    this.#sessions.delete(found)
    if (key === undefined) return undefined
    session.usedMs = this.#now()
    this.#sessions.set(found, session)
    if (!isSameOrigin(request)) {
      throw new ServerError(
        'ERR_FORBIDDEN',
        'this came from another site: a session works only from the dashboard of this service',
      )
    }
    return key
  }

  /** Returns the key of a session, if both are valid. */
  #livingKey({ keyId, usedMs, madeMs }: Session): ApiKey | undefined {
    const nowMs = this.#now()
    const key = this.#keys.get(keyId)
    const isOver = nowMs - usedMs > IDLE_MS || nowMs - madeMs > LONGEST_MS
    return isOver || key === undefined || !isValid(key, nowMs) ? undefined : key
  }

  /** Removes ended sessions, and the oldest of this key if needed. Throws ERR_BUSY if only sessions of other keys are left. */
  #evictOldest(keyId: string): void {
    const own: string[] = []
    for (const [found, session] of this.#sessions) {
      if (this.#livingKey(session) === undefined) this.#sessions.delete(found)
      else if (session.keyId === keyId) own.push(found)
    }
    const isFull = own.length >= SESSIONS_A_KEY || this.#sessions.size >= MOST_SESSIONS
    if (!isFull) return
    if (own.length === 0) throw new ServerError('ERR_BUSY', `${MOST_SESSIONS} sessions of other keys are open: try again later`)
    this.#sessions.delete(own[0])
  }

  #forget(request: IncomingMessage): void {
    const value = cookieOf(request)
    if (value !== undefined) this.#sessions.delete(digest(value))
  }

  #cookie(request: IncomingMessage, value: string, more: string): string {
    const isTls = this.#isTls(request)
    return `${isTls ? TLS_COOKIE : COOKIE}=${value}; Path=/; HttpOnly; SameSite=Strict${isTls ? '; Secure' : ''}${more}`
  }

  #isTls({ socket, headers }: IncomingMessage): boolean {
    if ((socket as TLSSocket).encrypted) return true
    return headers['x-forwarded-proto'] === 'https' && this.#trusted.has(socket.remoteAddress ?? '')
  }
}

function digest(value: string): string {
  return createHash('sha256').update(value).digest('base64url')
}

function cookieOf({ headers }: IncomingMessage): string | undefined {
  for (const pair of headers.cookie?.split(';') ?? []) {
    const [name, value] = pair.trim().split('=')
    if ((name === COOKIE || name === TLS_COOKIE) && value) return value
  }
  return undefined
}
