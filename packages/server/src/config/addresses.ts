// Addresses in the configuration: listen addresses, stores, trusted proxies.

import { isIP } from 'node:net'

/** A listen address: a host and port, or a socket file. */
export type ListenAddress = { readonly host: string; readonly port: number } | { readonly socket: string }

/** The address of the store. */
export type StoreAddress =
  | { readonly kind: 'memory' }
  /** One URL is a server, several URLs are nodes of a cluster. */
  | { readonly kind: 'redis'; readonly urls: readonly string[] }
  /** URLs of the sentinels (redis:// or rediss://), and the name of the group that they watch. */
  | { readonly kind: 'redis-sentinel'; readonly urls: readonly string[]; readonly service: string }

/** Maximum length of a socket path. The system would cut off a longer one silently. Linux takes 107 bytes, macOS and BSD 103. */
export const MOST_SOCKET_BYTES = process.platform === 'linux' ? 107 : 103

export const LISTEN_FORM = "such as '127.0.0.1:8080', '[::1]:8080', '8080' (on 127.0.0.1) or 'unix:/run/sluice.sock'"

/** Returns undefined if the text is not valid. */
export function readListen(text: string): ListenAddress | undefined {
  if (text.startsWith('unix:')) return text.length > 5 ? { socket: text.slice(5) } : undefined
  const parts = /^(?:(?:\[([0-9a-f:.]+)\]|([a-z0-9.-]+)):)?(\d{1,5})$/i.exec(text)
  if (parts === null) return undefined
  const [, v6, name, digits] = parts
  const port = Number(digits)
  if (port > 65_535 || (v6 !== undefined && isIP(v6) !== 6)) return undefined
  return { host: v6 ?? name ?? '127.0.0.1', port }
}

export function showListen(address: ListenAddress): string {
  if ('socket' in address) return `unix:${address.socket}`
  const { host, port } = address
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`
}

/** True if only this machine can reach the address. */
export function isLocal(address: ListenAddress): boolean {
  if ('socket' in address) return true
  const { host } = address
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

export const STORE_FORM =
  "'memory:', 'redis://host:6379', 'rediss://…' for TLS, several with commas between them for a cluster, or 'redis-sentinel://host:26379/name'"

const SENTINEL = '-sentinel:'

/** Returns undefined if the text is not valid. */
export function readStore(text: string): StoreAddress | undefined {
  if (text === 'memory:' || text === 'memory') return { kind: 'memory' }
  const urls = text.split(',').map((part) => part.trim())
  if (!urls.every((url) => URL.canParse(url) && new URL(url).hostname !== '')) return undefined
  const protocols = new Set(urls.map((url) => new URL(url).protocol))
  const [protocol] = protocols
  if (protocols.size !== 1 || !/^rediss?(-sentinel)?:$/.test(protocol)) return undefined
  if (!protocol.endsWith(SENTINEL)) return { kind: 'redis', urls }
  const services = new Set(urls.map((url) => decodeURIComponent(new URL(url).pathname.slice(1))))
  const [service] = services
  if (services.size !== 1 || service === '') return undefined
  const sentinels = urls.map((url) => url.replace(SENTINEL, ':').replace(/(\/\/[^/]*)\/.*$/, '$1'))
  return { kind: 'redis-sentinel', urls: sentinels, service }
}

/** Replaces passwords by asterisks. */
export function hidePasswords(text: string): string {
  return text.replace(/(\/\/[^/:@,]*):[^@,]*@/g, '$1:***@')
}

export const PROXY_FORM = "an address such as '10.0.0.7', or a network such as '10.0.0.0/8' or 'fd00::/8'"

export function isNetwork(text: string): boolean {
  const [address, bits, ...rest] = text.split('/')
  const version = isIP(address)
  if (version === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}
