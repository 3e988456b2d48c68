// Authentication: an API key in `Api-Key` or `Authorization: Bearer`, or the session of somebody who signed in to the pages.
// Invariant: it runs before a body is read or a counter touched. An address that fails too often is answered with less work;
// a valid key is let in all the same, so that nobody can lock out others who share an address. A session cannot make sessions.

import type { IncomingMessage } from 'node:http'
import { isIPv4 } from 'node:net'
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { createLimiter, memoryStore, tokenBucket } from 'sluice'
import { clientAddress } from 'sluice/http'
import { ServerError, type ServerErrorCode } from '../errors.ts'
import { show } from '../input/near-word.ts'
import { isAlive } from '../keys/api-key.ts'
import { type ApiKey, mayUse, type Scope } from '../keys/key-ring.ts'
import type { Service } from '../service.ts'
import { isFromOtherSite } from '../web/same-origin.ts'
import { Sessions } from '../web/sessions.ts'
import { requestHeader } from './request-header.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose key was presented. */
    apiKey: ApiKey
  }
}

export type AuthenticationHook = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => void

/** A request that may not pass, with what its answer has to say in headers. */
export class Refusal extends ServerError {
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ServerErrorCode, message: string, headers: Readonly<Record<string, string>>) {
    super(code, message)
    this.headers = headers
  }
}

/** Who asks a service that needs no keys. */
const ANYBODY: ApiKey = { id: 'anybody', name: 'anybody', scopes: ['admin'], createdAt: 0 }

/** Headers with which a proxy says what it asks about. */
const PROXY_HEADERS = ['x-forwarded-uri', 'x-original-uri'] as const

/** How often an address may fail: a misspelt key in a script is told so, a list of guesses is not worked through. */
const FAILURES = { capacity: 20, refill: 20, every: '1m' } as const
const MOST_ADDRESSES = 10_000

export class Authentication {
  readonly #service: Service
  readonly #failures = createLimiter({ rules: tokenBucket(FAILURES), store: memoryStore({ maxKeys: MOST_ADDRESSES }) })
  readonly #address: (request: IncomingMessage) => string
  /** Of those who signed in to the pages. */
  readonly sessions: Sessions

  constructor(service: Service) {
    this.#service = service
    this.sessions = new Sessions(service)
    const read = clientAddress({ trustProxy: service.trustedProxies.length === 0 ? 0 : service.trustedProxies })
    this.#address = ({ socket, headers }) => read(socket.remoteAddress, headers).key
  }

  /** The address that a request came from. */
  addressOf(request: IncomingMessage): string {
    return this.#address(request)
  }

  /** The key that was presented, or that the session stands for; throws unless it is alive and has the scope. */
  authenticate(request: IncomingMessage, scope: Scope): ApiKey {
    return this.#authenticate(request, scope, true)
  }

  /** The same, and a session is not enough. */
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

  /** True if a request that was let in with a key would be let in again. Asking does not count as use of a session. */
  isStillIn(request: IncomingMessage, { id }: ApiKey): boolean {
    const { keysRequired, keys, stats } = this.#service
    if (!keysRequired) return true
    if (presentedKey(request) === undefined) return this.sessions.isAlive(request)
    const key = keys.get(id)
    return key !== undefined && isAlive(key, stats.now())
  }

  /** Whether a person did it, on the pages, and not a program with a key. */
  isFromPages(request: IncomingMessage): boolean {
    return (
      presentedKey(request) === undefined && (this.#service.keysRequired || request.headers['sec-fetch-site'] === 'same-origin')
    )
  }

  /** A hook that lets those pass who have the scope. */
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

  /** Where no key is asked for, a page of another site must not get in by a name of its own that leads to this machine. */
  #checkHost({ headers: { host } }: IncomingMessage): void {
    if (this.#service.anyHost || host === undefined || isLocalHost(host)) return
    throw new ServerError(
      'ERR_FORBIDDEN',
      `no API key is required here, so the Host header must be localhost or an address, not ${show(host)}: set keysRequired`,
    )
  }

  /** Where no key is asked for, a page of another site must not spend or read, not even by an image whose address is one of ours. */
  #checkSite(request: IncomingMessage): void {
    // A proxy that asks for its client may send the client's own headers along. No page can set these two on a request to another site.
    if (PROXY_HEADERS.some((name) => requestHeader(request, name) !== undefined)) return
    const site = requestHeader(request, 'sec-fetch-site')
    // Behind a proxy that writes its own Host, an origin says nothing.
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
    const { stats } = this.#service
    stats.failedAuthentications += 1
    const { allowed, retryAfterMs } = this.#failures.hit(this.addressOf(request))
    if (!allowed) {
      stats.limitedAuthentications += 1
      const message = 'too many requests without a valid API key came from this address'
      return new Refusal('ERR_AUTH_LIMITED', message, { 'retry-after': `${Math.ceil(retryAfterMs / 1000)}` })
    }
    const message =
      presented === undefined
        ? 'an API key is missing: send it as Api-Key or as Authorization: Bearer'
        : 'the API key is not known, or it was revoked or has expired'
    return new Refusal('ERR_UNAUTHENTICATED', message, { 'www-authenticate': 'Bearer' })
  }
}

/** Names that no other site can have, with or without a port. */
function isLocalHost(host: string): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase()
  return name === 'localhost' || name.endsWith('.localhost') || name.startsWith('[') || isIPv4(name)
}

function presentedKey(request: IncomingMessage): string | undefined {
  const key = requestHeader(request, 'api-key')
  if (key !== undefined && key !== '') return key
  const authorization = requestHeader(request, 'authorization')
  return authorization?.slice(0, 7).toLowerCase() === 'bearer ' ? authorization.slice(7).trim() : undefined
}
