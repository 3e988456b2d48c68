// A list of clients, by network or by key.

import { SluiceError, show } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import type { Subject } from '../core/subject.ts'
import { isNat64 } from './address.ts'
import { cidrList, type HasAddress } from './cidr-list.ts'
import type { Denial } from './responder.ts'

export interface ClientListOptions {
  /** Networks such as `10.0.0.0/8`, or single addresses. */
  readonly addresses?: readonly string[]
  readonly keys?: readonly string[]
  /** Prefixes of NAT64 translators. Their IPv4 clients are also looked up by their IPv4 addresses, as in `cidrList`. */
  readonly nat64?: readonly string[]
}

export interface ClientList {
  /** True if the list contains addresses. If it is false, the middleware does not read the client's address for the list. */
  readonly listsAddresses: boolean
  hasAddress(address: HasAddress): boolean
  /** As `hasAddress`. It also finds an IPv4 client behind a NAT64 translator, whose address contains the client's. */
  blocks(address: HasAddress): boolean
  /** True if the key is on the list, or one value of a record. */
  hasKey(key: Subject): boolean
  /** The response to a client on a list of blocked clients. */
  readonly denial: Denial
}

const FORBIDDEN: Denial = {
  status: 403,
  headers: { 'Content-Type': 'application/problem+json' },
  body: JSON.stringify({ type: 'about:blank', title: 'Forbidden', status: 403 }),
}

const OPTIONS = ['addresses', 'keys', 'nat64'] as const

/** Makes a list of clients, for `allow` and `block` of the middleware. */
export function clientList(options: ClientListOptions): ClientList {
  checkOptions('clientList', options, OPTIONS)
  const { addresses = [], keys = [], nat64 = [] } = options
  if (!Array.isArray(keys) || !keys.every((key) => typeof key === 'string')) {
    const message = `clientList needs keys to be a list of strings, got ${show(keys)}`
    throw new SluiceError('ERR_OPTION', message, { option: 'keys', value: keys })
  }
  const networks = cidrList(addresses, { nat64 })
  const set = new Set(keys)
  return {
    listsAddresses: addresses.length > 0,
    hasAddress: (address) => networks.has(address),
    blocks: ({ bytes }) =>
      networks.has({ bytes }) || (bytes !== undefined && isNat64(bytes) && networks.has({ bytes: bytes.subarray(12) })),
    // The limiter refuses values that are not subjects.
    hasKey: (key) => (typeof key === 'string' ? set.has(key) : Object.values(key ?? {}).some((each) => set.has(each))),
    denial: FORBIDDEN,
  }
}
