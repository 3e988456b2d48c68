// Clients to let through or to keep out, by the network they are in or by the key they count under.
// Invariant: a client that is kept out by its IPv4 address is kept out behind a translator too. One that is let through is not let
// through behind one, unless that was asked for: a list that lets in has to hold the address itself.

import { SluiceError, show } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import { type CidrList, cidrList, WELL_KNOWN_NAT64 } from '../http/cidr-list.ts'
import type { Visit } from './visit.ts'

export interface Clients {
  /** Networks such as `10.0.0.0/8`, or single addresses. */
  readonly addresses?: readonly string[]
  readonly keys?: readonly string[]
  /** Prefixes of translators (NAT64) whose IPv4 clients are looked up by their IPv4 addresses too. `block` always has `64:ff9b::/96`. */
  readonly nat64?: readonly string[]
}

const OPTIONS = ['addresses', 'keys', 'nat64'] as const

export class ClientList {
  readonly #networks: CidrList | undefined
  readonly #keys: ReadonlySet<string> | undefined

  /** `kind` says what the list is for. */
  constructor(of: string, kind: 'allow' | 'block', clients: Clients) {
    const name = `${of}: ${kind}`
    checkOptions(name, clients, OPTIONS)
    const { addresses, keys, nat64 = [] } = clients
    if (keys !== undefined && !(Array.isArray(keys) && keys.every((key) => typeof key === 'string'))) {
      throw new SluiceError('ERR_OPTION', `${name} needs keys to be a list of strings, got ${show(keys)}`)
    }
    const translators = kind === 'block' && Array.isArray(nat64) ? [WELL_KNOWN_NAT64, ...nat64] : nat64
    this.#networks = addresses === undefined ? undefined : cidrList(addresses, { nat64: translators })
    this.#keys = keys === undefined ? undefined : new Set(keys)
  }

  hasAddress(visit: Visit<unknown>): boolean {
    return this.#networks?.has(visit.address) ?? false
  }

  hasKey(key: string): boolean {
    return this.#keys?.has(key) ?? false
  }
}
