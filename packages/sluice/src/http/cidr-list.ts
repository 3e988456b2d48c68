// A list of networks: of trusted proxies, or of allowed or blocked clients.
// Invariant: the time of a lookup depends on the number of prefix lengths and of translators, not on the number of networks.

import { SluiceError, show } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import { embeddedIPv4, networkOf, parseAddress } from './address.ts'

/** An object with an address, such as the result of `clientAddress()`. */
export interface HasAddress {
  readonly bytes: Uint8Array | undefined
}

export interface CidrList {
  /** True if the text is an address in one of the networks. */
  has(address: string | HasAddress): boolean
}

export interface CidrListOptions {
  /**
   * Prefixes of NAT64 translators (RFC 6052), such as `64:ff9b::/96`. An address with such a prefix is looked up as it is, and as
   * the IPv4 address that it contains. Default: none.
   */
  readonly nat64?: readonly string[]
}

/** The default prefix of NAT64 translators (RFC 6052). */
export const WELL_KNOWN_NAT64 = '64:ff9b::/96'

const OPTIONS = ['nat64'] as const

/** Lengths that a translator's prefix can have. */
const NAT64_BITS = [32, 40, 48, 56, 64, 96]

/** Reads networks such as `10.0.0.0/8`, `2001:db8::/32`, or single addresses. */
export function cidrList(networks: readonly string[], options: CidrListOptions = {}): CidrList {
  checkOptions('cidrList', options, OPTIONS)
  const { nat64 = [] } = options
  for (const list of [networks, nat64]) {
    if (Array.isArray(list)) continue
    throw new SluiceError('ERR_OPTION', `cidrList takes a list of networks such as '10.0.0.0/8', got ${show(list)}`)
  }
  return new NetworkList(networks, nat64.map(readTranslator))
}

interface Network {
  readonly bytes: Uint8Array
  readonly prefix: number
}

class NetworkList implements CidrList {
  /** Networks by the bytes of their addresses and by the length of their prefix. */
  readonly #networks = { 4: new Map<number, Set<string>>(), 16: new Map<number, Set<string>>() }
  readonly #translators: readonly { readonly name: string; readonly prefix: number }[]

  constructor(networks: readonly string[], translators: readonly Network[]) {
    this.#translators = translators.map(({ bytes, prefix }) => ({ name: nameOf(networkOf(bytes, prefix)), prefix }))
    for (const written of networks) {
      const { bytes, prefix } = readNetwork(written)
      const byPrefix = this.#networks[bytes.length as 4 | 16]
      const set = byPrefix.get(prefix) ?? new Set()
      byPrefix.set(prefix, set.add(nameOf(networkOf(bytes, prefix))))
    }
  }

  has(address: string | HasAddress): boolean {
    const bytes = typeof address === 'string' ? parseAddress(address) : address.bytes
    if (bytes === undefined) return false
    if (this.#holds(bytes)) return true
    if (bytes.length === 4) return false
    return this.#translators.some(({ name, prefix }) => {
      return nameOf(networkOf(bytes, prefix)) === name && this.#holds(embeddedIPv4(bytes, prefix))
    })
  }

  #holds(bytes: Uint8Array): boolean {
    for (const [prefix, networks] of this.#networks[bytes.length as 4 | 16]) {
      if (networks.has(nameOf(networkOf(bytes, prefix)))) return true
    }
    return false
  }
}

/** Returns bytes as a key of a Set. Faster than `formatAddress`. */
function nameOf(bytes: Uint8Array): string {
  let name = ''
  for (let i = 0; i < bytes.length; i++) name += String.fromCharCode(bytes[i])
  return name
}

function readTranslator(written: unknown): Network {
  const { bytes, prefix } = readNetwork(written)
  if (bytes.length === 16 && NAT64_BITS.includes(prefix)) return { bytes, prefix }
  throw new SluiceError(
    'ERR_OPTION',
    `a prefix of nat64 must be an IPv6 network of /${NAT64_BITS.join(', /')}, such as '${WELL_KNOWN_NAT64}', got ${show(written)}`,
  )
}

function readNetwork(written: unknown): Network {
  const [address, length, ...rest] = typeof written === 'string' ? written.split('/') : []
  const bytes = address === undefined || rest.length > 0 ? undefined : parseAddress(address)
  if (bytes === undefined) {
    throw new SluiceError('ERR_OPTION', `a network must be an address such as '10.0.0.1', or one with '/8', got ${show(written)}`)
  }
  // In IPv6 notation the prefix length counts IPv6 bits, also for a mapped IPv4 address.
  const mappedBits = bytes.length === 4 && (address as string).includes(':') ? 96 : 0
  const bits = bytes.length * 8
  if (length === undefined) return { bytes, prefix: bits }
  const prefix = /^\d{1,3}$/.test(length) ? Number(length) - mappedBits : -1
  if (prefix < 0 || prefix > bits) {
    const range = `/${mappedBits} to /${bits + mappedBits}`
    throw new SluiceError('ERR_OPTION', `a network's length must be ${range} for this kind of address, got ${show(written)}`)
  }
  return { bytes, prefix }
}
