// The address of a client without proxies: the peer, at the other end of the socket.
// Invariant: the content of a request never changes the result or makes it throw.

import { formatAddress, isNat64, networkOf } from './address.ts'
import type { HasAddress } from './cidr-list.ts'
import { hopAddress } from './forwarded.ts'
import type { Warning } from './warning.ts'

/** A request's headers: `Headers`, or an object with names in lower case, as in `node:http`. */
export type RequestHeaders =
  | { get(name: string): string | null | undefined }
  | Readonly<Record<string, string | readonly string[] | undefined>>

export type AddressWarning = Warning<'WARN_UNTRUSTED_PROXY'>

/** The address of a request's client. */
export interface ClientAddress extends HasAddress {
  /** The key to count by: an IPv4 address, or an IPv6 network such as `2001:db8::/64`; `'unknown'` if there is no address. */
  readonly key: string
  /** The address as text; `''` if there is none. */
  readonly text: string
  /** The address as 4 or 16 bytes. */
  readonly bytes: Uint8Array | undefined
}

/** Reads the client's address from the peer's address and the request's headers. */
export type ReadClientAddress = (peer: string | null | undefined, headers?: RequestHeaders) => ClientAddress

export interface PeerAddressOptions {
  readonly ipv6Prefix: number
  /** Headers that only proxies write. The first one that is found causes a warning. */
  readonly suspicious: readonly string[]
  warn(warning: AddressWarning): void
}

/** Number of bits of an IPv6 address that identify a client: the network that one customer usually gets. */
export const USUAL_IPV6_PREFIX = 64

export const USUAL_HEADERS: readonly string[] = ['x-forwarded-for', 'forwarded']

/** The most peers in the cache: enough for the connections of a busy server. */
const MOST_PEERS = 10_000

/**
 * The headers of a peer's first requests are searched for a sign of a proxy, and then those of one request in 64. The search takes
 * longer than reading the address. It never ends, because a proxy may check the health of this server for hours, without its header,
 * before it passes on the first request of a client.
 */
const SEARCHED_FIRST = 100
const SEARCHED_LATER = 64

/**
 * Reads the peer as the client. It calls `headersOf` with the two values that follow it, and only if the headers are searched, because
 * some runtimes make them on the first read, which is slow.
 */
export type ReadPeer = <Q, A>(peer: string | null | undefined, headersOf: (q: Q, a: A) => RequestHeaders, q: Q, a: A) => Client

/** Makes a function that returns the peer as the client. */
export function peerReader({ ipv6Prefix, suspicious, warn }: PeerAddressOptions): ReadPeer {
  /** Cached addresses, because a peer sends many requests. */
  const peers = new Map<string, Client>()
  let mayWarn = suspicious.length > 0
  return (peer, headersOf, q, a) => {
    const name = peer ?? ''
    let client = peers.get(name)
    if (client === undefined) {
      client = new Client(typeof peer === 'string' ? hopAddress(peer) : undefined, ipv6Prefix)
      if (peers.size === MOST_PEERS) peers.clear()
      peers.set(name, client)
    }
    const nth = ++client.requests
    if (mayWarn && (nth <= SEARCHED_FIRST || nth % SEARCHED_LATER === 0)) {
      const headers = headersOf(q, a)
      const header = suspicious.find((each) => headerValue(headers, each) !== '')
      if (header !== undefined) {
        mayWarn = false
        warn(untrustedProxy(header, client.text))
      }
    }
    return client
  }
}

/** As `peerReader`, for headers that are there. */
export function peerAddress(options: PeerAddressOptions): ReadClientAddress {
  const read = peerReader(options)
  return (peer, headers = {}) => read(peer, same, headers, undefined)
}

function same(headers: RequestHeaders): RequestHeaders {
  return headers
}

export class Client implements ClientAddress {
  readonly bytes: Uint8Array | undefined
  /** Number of this peer's requests. */
  requests = 0
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
    return addressText(this.bytes)
  }
}

/** Returns an address as text; `''` if there is none. */
export function addressText(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? '' : formatAddress(bytes)
}

/** Returns the value of a header, with its lines joined; `''` if there is none. */
export function headerValue(headers: RequestHeaders, name: string): string {
  const value = typeof headers.get === 'function' ? headers.get(name) : (headers as Record<string, unknown>)[name]
  if (typeof value === 'string') return value
  return Array.isArray(value) ? value.join(',') : ''
}

function untrustedProxy(header: string, peer: string): AddressWarning {
  const message = `a request from ${peer || 'a peer without an address'} has the header ${header}: set trustProxy to the number of your proxies, else to 0`
  return { code: 'WARN_UNTRUSTED_PROXY', message }
}
