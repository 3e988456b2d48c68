// The client's address: that of the other end of the socket, or the one that trusted proxies report.
// Invariant: only a trusted proxy can change the answer, and no request makes it throw.

import { SluiceError, show } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import { isWhole } from '../core/whole-numbers.ts'
import { formatAddress, isNat64, networkOf } from './address.ts'
import { cidrList, type HasAddress } from './cidr-list.ts'
import { ADDRESS_LIST, FORWARDED, hopAddress } from './forwarded.ts'
import { type Warning, warnProcess } from './warning.ts'

/**
 * The trusted proxies: how many stand between the clients and this process; or the networks they are in; or a function
 * of a proxy's address (`''` if it has none) and its distance, 0 for the one at the other end of the socket.
 */
export type TrustProxy = number | readonly string[] | ((address: string, distance: number) => boolean)

/** A request's headers: `Headers`, or an object with names in small letters, as `node:http` has it. */
export type RequestHeaders =
  | { get(name: string): string | null | undefined }
  | Readonly<Record<string, string | readonly string[] | undefined>>

export interface ClientAddressOptions {
  /** Default: none, and a warning if a proxy seems to be there. 0: none, and no warning. */
  readonly trustProxy?: TrustProxy
  /** The header that the proxies write: `'forwarded'`, or any that lists addresses. Default: `'x-forwarded-for'`. */
  readonly header?: string
  /** Number of bits of an IPv6 address that identify a client, 32 to 128. Default: 64, the network that one customer usually gets. */
  readonly ipv6Prefix?: number
  /** Hears, once, that the set-up looks wrong. Default: `process.emitWarning`, or `console.warn` where there is none. */
  readonly warn?: (warning: AddressWarning) => void
}

export type AddressWarning = Warning<'WARN_UNTRUSTED_PROXY'>

/** The origin of a request. */
export interface ClientAddress extends HasAddress {
  /** The key to count by: an IPv4 address, or an IPv6 network such as `2001:db8::/64`; `'unknown'` if there is no address. */
  readonly key: string
  /** The address itself, in its one spelling; `''` if there is none. */
  readonly text: string
  /** The address itself: 4 bytes, or 16. */
  readonly bytes: Uint8Array | undefined
}

/** Reads the client's address from that of the peer, at the other end of the socket, and the request's headers. */
export type ReadClientAddress = (peer: string | null | undefined, headers?: RequestHeaders) => ClientAddress

const OPTIONS = ['trustProxy', 'header', 'ipv6Prefix', 'warn'] as const

/** Enough for the connections of a busy server; more would only be memory. */
const MOST_STRANGERS = 10_000

const USUAL_HEADERS = ['x-forwarded-for', 'forwarded'] as const

/** Makes what reads clients' addresses, for one set-up of proxies. */
export function clientAddress(options: ClientAddressOptions = {}): ReadClientAddress {
  checkOptions('clientAddress', options, OPTIONS)
  const { trustProxy, ipv6Prefix = 64, warn = warnProcess } = options
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
  const suspicious = options.header === undefined ? USUAL_HEADERS : [header]
  let mayWarn = trustProxy !== 0
  /** Peers that are not trusted, who send many requests each: what their address says does not change. A function may change its mind. */
  const strangers = new Map<string, Client>()
  const mayRemember = typeof trustProxy !== 'function'

  function stranger(client: Client, headers: RequestHeaders): Client {
    const name = mayWarn ? suspicious.find((each) => headerValue(headers, each) !== '') : undefined
    if (name !== undefined) {
      mayWarn = false
      warn(untrustedProxy(name, client.text))
    }
    return client
  }

  return (peer, headers = {}) => {
    const known = typeof peer === 'string' ? strangers.get(peer) : undefined
    if (known !== undefined) return stranger(known, headers)
    let bytes = typeof peer === 'string' ? hopAddress(peer) : undefined
    if (!isTrusted(bytes, 0)) {
      const client = new Client(bytes, ipv6Prefix)
      if (mayRemember && typeof peer === 'string') {
        if (strangers.size === MOST_STRANGERS) strangers.clear()
        strangers.set(peer, client)
      }
      return stranger(client, headers)
    }
    const list = headerValue(headers, header)
    let distance = 1
    for (let end = list.length; end > 0; ) {
      const comma = syntax.commaBefore(list, end)
      const entry = list.slice(comma + 1, end).trim()
      end = comma
      if (entry === '') continue
      const hop = syntax.address(entry)
      // A proxy that does not say for whom it speaks is itself the one to count.
      if (hop === undefined) break
      bytes = hop
      if (!isTrusted(bytes, distance)) break
      distance += 1
    }
    return new Client(bytes, ipv6Prefix)
  }
}

class Client implements ClientAddress {
  readonly bytes: Uint8Array | undefined
  readonly #ipv6Prefix: number
  #key: string | undefined

  constructor(bytes: Uint8Array | undefined, ipv6Prefix: number) {
    this.bytes = bytes
    this.#ipv6Prefix = ipv6Prefix
  }

  get key(): string {
    this.#key ??= this.#readKey()
    return this.#key
  }

  #readKey(): string {
    const { bytes } = this
    if (bytes === undefined) return 'unknown'
    if (bytes.length === 4) return formatAddress(bytes)
    if (isNat64(bytes)) return formatAddress(bytes.subarray(12))
    return `${formatAddress(networkOf(bytes, this.#ipv6Prefix))}/${this.#ipv6Prefix}`
  }

  get text(): string {
    return textOf(this.bytes)
  }
}

function textOf(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? '' : formatAddress(bytes)
}

function headerValue(headers: RequestHeaders, name: string): string {
  const value = typeof headers.get === 'function' ? headers.get(name) : (headers as Record<string, unknown>)[name]
  if (typeof value === 'string') return value
  return Array.isArray(value) ? value.join(',') : ''
}

type IsTrusted = (bytes: Uint8Array | undefined, distance: number) => boolean

function checkTrust(trustProxy: TrustProxy): IsTrusted {
  if (isWhole(trustProxy, 0)) return (_bytes, distance) => distance < trustProxy
  if (typeof trustProxy === 'function') return (bytes, distance) => trustProxy(textOf(bytes), distance) === true
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

function untrustedProxy(header: string, peer: string): AddressWarning {
  const from = peer === '' ? 'a peer without an address' : peer
  const message =
    `a request from ${from} brought the header ${header}, which is not believed, as trustProxy does not cover that peer. ` +
    'If it is your proxy, all its clients are counted as one: set trustProxy to the number of your proxies or to their addresses. ' +
    'If you have no proxy, set trustProxy to 0.'
  return { code: 'WARN_UNTRUSTED_PROXY', message }
}
