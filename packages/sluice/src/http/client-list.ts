// A list of clients, by network or by key.

import { SluiceError, show } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import { cidrList, type HasAddress } from './cidr-list.ts'

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
  hasKey(key: string): boolean
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
    hasKey: (key) => set.has(key),
  }
}
