// Reads the address of a client behind trusted proxies, from the header that the proxies write.
// Invariant: only a trusted proxy can change the result, and no request makes it throw.

import { SluiceError, show } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import { isWhole } from '../core/whole-numbers.ts'
import { cidrList } from './cidr-list.ts'
import { ADDRESS_LIST, FORWARDED, hopAddress } from './forwarded.ts'
import {
  type AddressWarning,
  addressText,
  Client,
  headerValue,
  peerAddress,
  type ReadClientAddress,
  USUAL_HEADERS,
  USUAL_IPV6_PREFIX,
} from './peer-address.ts'
import { warnProcess } from './warning.ts'

/**
 * The trusted proxies:
 * - A number: this many proxies are between the clients and this process.
 * - A list: the networks of the proxies.
 * - A function: returns true if a proxy is trusted. It gets the proxy's address (`''` if unknown) and distance (0 for the peer).
 */
export type TrustProxy = number | readonly string[] | ((address: string, distance: number) => boolean)

export interface ClientAddressOptions {
  /** The trusted proxies. Default: none, with a warning if there seems to be a proxy. 0: none, without a warning. */
  readonly trustProxy?: TrustProxy
  /**
   * Name of the header that the proxies write: `'forwarded'`, or any header that lists addresses. Default: `'x-forwarded-for'`.
   */
  readonly header?: string
  /**
   * Number of bits of an IPv6 address that identify a client, 32 to 128. Default: 64, the network that one customer usually gets.
   */
  readonly ipv6Prefix?: number
  /** Called once if the configuration looks wrong. Default: `process.emitWarning`, or `console.warn` if there is no process. */
  readonly warn?: (warning: AddressWarning) => void
}

const OPTIONS = ['trustProxy', 'header', 'ipv6Prefix', 'warn'] as const

/** Makes a function that reads clients' addresses, for one configuration of proxies. */
export function clientAddress(options: ClientAddressOptions = {}): ReadClientAddress {
  checkOptions('clientAddress', options, OPTIONS)
  const { trustProxy, ipv6Prefix = USUAL_IPV6_PREFIX, warn = warnProcess } = options
  const header = checkHeader(options.header ?? USUAL_HEADERS[0])
  if (!isWhole(ipv6Prefix, 32, 128)) {
    throw new SluiceError('ERR_OPTION', `ipv6Prefix must be a whole number from 32 to 128, got ${show(ipv6Prefix)}`, {
      option: 'ipv6Prefix',
      value: ipv6Prefix,
    })
  }
  if (typeof warn !== 'function')
    throw new SluiceError('ERR_OPTION', `warn must be a function, got ${show(warn)}`, { option: 'warn', value: warn })
  const isTrusted = checkTrust(trustProxy ?? 0)
  const syntax = header === 'forwarded' ? FORWARDED : ADDRESS_LIST
  const readPeer = peerAddress({
    ipv6Prefix,
    suspicious: trustProxy === 0 ? [] : options.header === undefined ? USUAL_HEADERS : [header],
    warn,
  })
  if (trustProxy === undefined || trustProxy === 0) return readPeer
  return (peer, headers = {}) => {
    let bytes = typeof peer === 'string' ? hopAddress(peer) : undefined
    if (!isTrusted(bytes, 0)) return readPeer(peer, headers)
    const list = headerValue(headers, header)
    let distance = 1
    for (let end = list.length; end > 0; ) {
      const comma = syntax.commaBefore(list, end)
      const entry = list.slice(comma + 1, end).trim()
      end = comma
      if (entry === '') continue
      const hop = syntax.address(entry)
      // A proxy that reports no client is counted as the client.
      if (hop === undefined) break
      bytes = hop
      if (!isTrusted(bytes, distance)) break
      distance += 1
    }
    return new Client(bytes, ipv6Prefix)
  }
}

type IsTrusted = (bytes: Uint8Array | undefined, distance: number) => boolean

function checkTrust(trustProxy: TrustProxy): IsTrusted {
  if (isWhole(trustProxy, 0)) return (_bytes, distance) => distance < trustProxy
  if (typeof trustProxy === 'function') return (bytes, distance) => trustProxy(addressText(bytes), distance) === true
  if (Array.isArray(trustProxy)) {
    const proxies = cidrList(trustProxy)
    return (bytes) => proxies.has({ bytes })
  }
  const hint = (trustProxy as unknown) === true ? ': true would believe whatever a client writes' : ''
  throw new SluiceError(
    'ERR_OPTION',
    `trustProxy must be the number of proxies, a list of their networks or a function, got ${show(trustProxy)}${hint}`,
  )
}

function checkHeader(header: unknown): string {
  if (typeof header === 'string' && /^[\w-]+$/.test(header)) return header.toLowerCase()
  throw new SluiceError('ERR_OPTION', `header must be the name of a header such as 'x-forwarded-for', got ${show(header)}`, {
    option: 'header',
    value: header,
  })
}
