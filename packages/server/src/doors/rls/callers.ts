// Admits callers of the RLS door: by an API key with the scope `check`, or by a client certificate.
// Invariant: a caller is admitted before a counter is touched.

import type { IncomingHttpHeaders } from 'node:http2'
import { clientAddress } from 'sluice/http'
import { ServerError } from '../../errors.ts'
import { TOO_MANY_FAILURES } from '../../keys/failed-keys.ts'
import { keyIn } from '../../keys/key-fields.ts'
import { mayUse } from '../../keys/key-ring.ts'
import type { Service } from '../../service.ts'

/** The socket of a caller. A peer on a socket file has no address. */
export interface Peer {
  readonly remoteAddress?: string | undefined
}

export class Callers {
  readonly #service: Service
  readonly #needsKey: boolean
  /** The same form of an address as at the other doors. An IPv6 network counts as one address. */
  readonly #address = clientAddress({ trustProxy: 0 })

  /** If clients need a certificate, the listener has verified it, and no key is needed. */
  constructor(service: Service, hasClientCertificates: boolean) {
    this.#service = service
    this.#needsKey = service.keysRequired && !hasClientCertificates
  }

  /** Throws unless the caller may ask. */
  admit(headers: IncomingHttpHeaders, peer: Peer): void {
    const { status, keys } = this.#service
    if (status.state === 'starting') throw new ServerError('ERR_NOT_READY', 'the service is starting: try again soon')
    if (!this.#needsKey) return
    const presented = text(headers['x-api-key']) || keyIn(text(headers['api-key']), headers.authorization)
    const key = presented === undefined ? undefined : keys.verify(presented)
    if (key === undefined) throw this.#refusal(peer, presented)
    if (mayUse(key, 'check')) return
    throw new ServerError(
      'ERR_FORBIDDEN',
      `this needs a key with the scope check: the key ${key.id} has ${key.scopes.join(', ')}`,
    )
  }

  #refusal({ remoteAddress = 'unknown' }: Peer, presented: string | undefined): ServerError {
    if (this.#service.failedKeys.add(this.#address(remoteAddress, {}).key) > 0)
      return new ServerError('ERR_AUTH_LIMITED', TOO_MANY_FAILURES)
    const message =
      presented === undefined
        ? 'an API key is missing: send it in the metadata as x-api-key or as authorization: Bearer'
        : 'the API key is not known, or it was revoked or has expired'
    return new ServerError('ERR_UNAUTHENTICATED', message)
  }
}

function text(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}
