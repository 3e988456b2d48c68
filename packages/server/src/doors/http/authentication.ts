// Authentication: an API key in `Api-Key` or `Authorization: Bearer`, or the session of a person who signed in to the dashboard.
// Invariant: authentication runs before a body is read or a counter is touched. An address that fails too often gets a cheaper refusal.
// A valid key always passes, so that nobody can lock out others behind the same address. A session cannot create sessions.

import type { IncomingMessage } from 'node:http'
import { isIPv4 } from 'node:net'
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { clientAddress } from 'sluice/http'
import { ServerError, type ServerErrorCode } from '../../errors.ts'
import { show } from '../../input/near-word.ts'
import { ANYBODY, isValid } from '../../keys/api-key.ts'
import { TOO_MANY_FAILURES } from '../../keys/failed-keys.ts'
import { keyIn } from '../../keys/key-fields.ts'
import { type ApiKey, mayUse, type Scope } from '../../keys/key-ring.ts'
import type { Service } from '../../service.ts'
import { isFromOtherSite } from './pages/same-origin.ts'
import { Sessions } from './pages/sessions.ts'
import { requestHeader } from './plumbing/request-header.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The key of the request: the presented one, or the one of its session. */
    apiKey: ApiKey
  }
}

export type AuthenticationHook = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => void

/** A request that is refused, with headers for its response. */
export class Refusal extends ServerError {
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ServerErrorCode, message: string, headers: Readonly<Record<string, string>>) {
    super(code, message)
    this.headers = headers
  }
}

/** The header fields that tell who calls. */
export interface KeyFields {
  readonly apiKey: string | undefined
  readonly authorization: string | undefined
  readonly host: string | undefined
}

/** Headers in which a proxy names the path of the request that it asks about. */
const PROXY_HEADERS = ['x-forwarded-uri', 'x-original-uri'] as const

export class Authentication {
  readonly #service: Service
  readonly #address: (request: IncomingMessage) => string
  /** Sessions of people who signed in to the dashboard. */
  readonly sessions: Sessions

  constructor(service: Service) {
    this.#service = service
    this.sessions = new Sessions(service)
    const read = clientAddress({ trustProxy: service.trustedProxies.length === 0 ? 0 : service.trustedProxies })
    this.#address = ({ socket, headers }) => read(socket.remoteAddress, headers).key
  }

  addressOf(request: IncomingMessage): string {
    return this.#address(request)
  }

  /** Returns the presented key, or the key of the session. Throws unless it is valid and has the scope. */
  authenticate(request: IncomingMessage, scope: Scope): ApiKey {
    return this.#authenticate(request, scope, true)
  }

  /**
   * True if `authenticate` accepts a request with these fields, and without any field of a browser or of a proxy that names a path.
   * False does not mean that it refuses. Neither counts as a failure.
   */
  admits(fields: KeyFields, scope: Scope): boolean {
    const { keysRequired, status, keys } = this.#service
    if (status.state === 'starting') return false
    if (!keysRequired) return this.#isHostAllowed(fields.host)
    const presented = keyIn(fields.apiKey, fields.authorization)
    const key = presented === undefined ? undefined : keys.verify(presented)
    return key !== undefined && mayUse(key, scope)
  }

  /** Like `authenticate`, but accepts no session. */
  authenticateByKey(request: IncomingMessage, scope: Scope): ApiKey {
    return this.#authenticate(request, scope, false)
  }

  #authenticate(request: IncomingMessage, scope: Scope, takesSession: boolean): ApiKey {
    const { keysRequired, status, keys } = this.#service
    if (status.state === 'starting') throw new ServerError('ERR_NOT_READY', 'the service is starting: try again soon')
    if (!keysRequired) {
      this.#checkHost(request)
      this.#checkSite(request)
      return ANYBODY
    }
    const presented = presentedKey(request)
    const ofSession = presented === undefined && takesSession ? this.sessions.keyOf(request) : undefined
    const key = presented === undefined ? ofSession : keys.verify(presented)
    if (key === undefined) throw this.#refusal(request, presented)
    if (mayUse(key, scope)) return key
    throw new ServerError(
      'ERR_FORBIDDEN',
      `this needs a key with the scope ${scope}: the key ${key.id} has ${key.scopes.join(', ')}`,
    )
  }

  /** True if the key of an earlier request is still valid. This check does not count as use of a session. */
  isStillValid(request: IncomingMessage, { id }: ApiKey): boolean {
    const { keysRequired, keys, stats } = this.#service
    if (!keysRequired) return true
    if (presentedKey(request) === undefined) return this.sessions.isValid(request)
    const key = keys.get(id)
    return key !== undefined && isValid(key, stats.now())
  }

  /** True if the request came from a person on the dashboard, false if it came from a program with a key. */
  isFromPages(request: IncomingMessage): boolean {
    return (
      presentedKey(request) === undefined && (this.#service.keysRequired || request.headers['sec-fetch-site'] === 'same-origin')
    )
  }

  /** Returns a hook that refuses requests without the scope. */
  requires(scope: Scope): AuthenticationHook {
    return (request, _reply, done) => {
      try {
        request.apiKey = this.authenticate(request.raw, scope)
        done()
      } catch (error) {
        done(error as ServerError)
      }
    }
  }

  /** Without keys: blocks DNS rebinding, where a foreign site points a host name of its own to this machine. */
  #checkHost({ headers: { host } }: IncomingMessage): void {
    if (host === undefined || this.#isHostAllowed(host)) return
    throw new ServerError(
      'ERR_FORBIDDEN',
      `no API key is required here, so the Host header must be localhost or an address, not ${show(host)}: set keysRequired`,
    )
  }

  #isHostAllowed(host: string | undefined): boolean {
    return this.#service.anyHost || host === undefined || isLocalHost(host)
  }

  /** Without keys: blocks requests from pages of other sites, which could spend units even through an image URL. */
  #checkSite(request: IncomingMessage): void {
    // A proxy may forward the client's own headers. A page cannot set these two headers on a request to another site.
    if (PROXY_HEADERS.some((name) => requestHeader(request, name) !== undefined)) return
    const site = requestHeader(request, 'sec-fetch-site')
    // If a proxy rewrites Host, comparing it with Origin proves nothing.
    const origin = this.#service.anyHost ? undefined : requestHeader(request, 'origin')
    if (site === undefined && origin === undefined) return
    const host = requestHeader(request, 'host')
    if (!isFromOtherSite({ 'sec-fetch-site': site, origin, ...(host !== undefined && { host }) })) return
    throw new ServerError(
      'ERR_FORBIDDEN',
      'no API key is required here, and this came from a page of another site: set keysRequired',
    )
  }

  #refusal(request: IncomingMessage, presented: string | undefined): Refusal {
    const waitMs = this.#service.failedKeys.add(this.addressOf(request))
    if (waitMs > 0) {
      return new Refusal('ERR_AUTH_LIMITED', TOO_MANY_FAILURES, { 'retry-after': `${Math.ceil(waitMs / 1000)}` })
    }
    const message =
      presented === undefined
        ? 'an API key is missing: send it as Api-Key or as Authorization: Bearer'
        : 'the API key is not known, or it was revoked or has expired'
    return new Refusal('ERR_UNAUTHENTICATED', message, { 'www-authenticate': 'Bearer' })
  }
}

/** True for names that a foreign site cannot own. The port is optional. */
function isLocalHost(host: string): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase()
  return name === 'localhost' || name.endsWith('.localhost') || name.startsWith('[') || isIPv4(name)
}

function presentedKey(request: IncomingMessage): string | undefined {
  return keyIn(requestHeader(request, 'api-key'), requestHeader(request, 'authorization'))
}
