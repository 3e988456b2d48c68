// Who is signed in to the pages: a cookie that stands for an API key, so that the key itself is typed once and kept nowhere.
// What must stay true: a session is worth no more than its key, and ends with it; another site cannot make a browser use it.

import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { type CidrList, cidrList } from 'sluice/http'
import { ServerError } from '../errors.ts'
import { isAlive } from '../keys/api-key.ts'
import type { ApiKey, KeyRing } from '../keys/key-ring.ts'

/** A session that nobody used for so long has ended; and so has any after a working day and a bit. */
const IDLE_MS = 30 * 60_000
const LONGEST_MS = 12 * 3_600_000

/** The one that was used longest ago gives way. */
const MOST_SESSIONS = 1000

const COOKIE = 'sluice_session'

/** Browsers take a cookie with this name only over TLS, from this host itself. */
const TLS_COOKIE = `__Host-${COOKIE}`

const READS = new Set(['GET', 'HEAD'])

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

  /** Signs in; → the header that has the browser keep it. */
  start(request: IncomingMessage, { id }: ApiKey): string {
    if (this.#sessions.size >= MOST_SESSIONS) this.#sessions.delete(this.#sessions.keys().next().value as string)
    const value = randomBytes(32).toString('base64url')
    const nowMs = this.#now()
    this.#sessions.set(digest(value), { keyId: id, madeMs: nowMs, usedMs: nowMs })
    return this.#cookie(request, value, '')
  }

  /** Signs out; → the header that has the browser forget it. */
  end(request: IncomingMessage): string {
    const value = cookieOf(request)
    if (value !== undefined) this.#sessions.delete(digest(value))
    return this.#cookie(request, '', '; Max-Age=0')
  }

  /** Whose session a request is part of, if it is part of one that is alive. Throws ERR_FORBIDDEN if another site made the browser send it. */
  keyOf(request: IncomingMessage): ApiKey | undefined {
    const value = cookieOf(request)
    if (value === undefined) return undefined
    const found = digest(value)
    const session = this.#sessions.get(found)
    if (session === undefined) return undefined
    const nowMs = this.#now()
    const key = this.#keys.get(session.keyId)
    const isOver = nowMs - session.usedMs > IDLE_MS || nowMs - session.madeMs > LONGEST_MS
    this.#sessions.delete(found)
    if (isOver || key === undefined || !isAlive(key, nowMs)) return undefined
    session.usedMs = nowMs
    this.#sessions.set(found, session)
    if (!isSameOrigin(request)) {
      throw new ServerError('ERR_FORBIDDEN', 'this came from another site: a session is for the pages of this service alone')
    }
    return key
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

/** Whether a page of this service sent it. Browsers say so; where one does not, nothing can be changed. */
function isSameOrigin({ method = '', headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || (site === 'none' && READS.has(method))
  const { origin, host } = headers
  if (origin === undefined) return READS.has(method)
  return URL.canParse(origin) && new URL(origin).host === host
}
