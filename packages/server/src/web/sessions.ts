// Sessions of the pages: a cookie that stands for an API key, so that the key itself is typed once and kept nowhere.
// Invariant: a session is worth no more than its key, and ends with it; another site cannot make a browser use it; a key can end no
// session of another key.

import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { type CidrList, cidrList } from 'sluice/http'
import { ServerError } from '../errors.ts'
import { isAlive } from '../keys/api-key.ts'
import type { ApiKey, KeyRing } from '../keys/key-ring.ts'
import { isSameOrigin } from './same-origin.ts'

/** A session that nobody used for so long has ended; and so has any after a working day and a bit. */
const IDLE_MS = 30 * 60_000
const LONGEST_MS = 12 * 3_600_000

/** Sessions of one key: of these the one that was used longest ago gives way. */
export const SESSIONS_A_KEY = 20

/** Of all keys. Sessions of others do not give way, so beyond this a key that has none gets none. */
export const MOST_SESSIONS = 10_000

const COOKIE = 'sluice_session'

/** Browsers take a cookie with this name only over TLS, from this host itself. */
const TLS_COOKIE = `__Host-${COOKIE}`

interface Session {
  readonly keyId: string
  readonly madeMs: number
  usedMs: number
}

export interface SessionsOptions {
  readonly keys: Pick<KeyRing, 'get'>
  /** Proxies that are believed when they say that a request came over TLS. */
  readonly trustedProxies: readonly string[]
  readonly now?: () => number
}

export class Sessions {
  readonly #keys: Pick<KeyRing, 'get'>
  readonly #trusted: CidrList
  readonly #now: () => number
  /** By the digest of the cookie's value; used longest ago first. */
  readonly #sessions = new Map<string, Session>()

  constructor({ keys, trustedProxies, now = Date.now }: SessionsOptions) {
    this.#keys = keys
    this.#trusted = cidrList(trustedProxies)
    this.#now = now
  }

  /** Signs in; → the header that has the browser keep it. A session that the browser has already ends. */
  start(request: IncomingMessage, { id }: ApiKey): string {
    this.#forget(request)
    this.#makeRoom(id)
    const value = randomBytes(32).toString('base64url')
    const nowMs = this.#now()
    this.#sessions.set(digest(value), { keyId: id, madeMs: nowMs, usedMs: nowMs })
    return this.#cookie(request, value, '')
  }

  /** Signs out; → the header that has the browser forget it. */
  end(request: IncomingMessage): string {
    this.#forget(request)
    return this.#cookie(request, '', '; Max-Age=0')
  }

  /** True if the session that a request is part of is alive. Asking does not count as use of it. */
  isAlive(request: IncomingMessage): boolean {
    const value = cookieOf(request)
    const session = value === undefined ? undefined : this.#sessions.get(digest(value))
    return session !== undefined && this.#livingKey(session) !== undefined
  }

  /** Whose session a request is part of, if it is part of one that is alive. Throws ERR_FORBIDDEN if another site made the browser send it. */
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
      throw new ServerError('ERR_FORBIDDEN', 'this came from another site: a session is for the pages of this service alone')
    }
    return key
  }

  /** The key of a session, if both are alive. */
  #livingKey({ keyId, usedMs, madeMs }: Session): ApiKey | undefined {
    const nowMs = this.#now()
    const key = this.#keys.get(keyId)
    const isOver = nowMs - usedMs > IDLE_MS || nowMs - madeMs > LONGEST_MS
    return isOver || key === undefined || !isAlive(key, nowMs) ? undefined : key
  }

  /** Drops what is over, and of this key's own sessions as many as have to go. Throws ERR_BUSY if only others' could. */
  #makeRoom(keyId: string): void {
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
