// Addresses in the configuration: listen addresses, trusted proxies.

import { isIP } from 'node:net'

/** A listen address: a host and port, or a socket file. */
export type ListenAddress = { readonly host: string; readonly port: number } | { readonly socket: string }

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

export const PROXY_FORM = "an address such as '10.0.0.7', or a network such as '10.0.0.0/8' or 'fd00::/8'"

export function isNetwork(text: string): boolean {
  const [address, bits, ...rest] = text.split('/')
  const version = isIP(address)
  if (version === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}
