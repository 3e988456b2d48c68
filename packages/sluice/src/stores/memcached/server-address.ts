// Addresses of servers: `host`, `host:port`, `[IPv6]:port`, `unix:/path`.

import { SluiceError } from '../../core/errors.ts'

const DEFAULT_PORT = 11_211
const HIGHEST_PORT = 65_535

/** Letters, digits, dots and hyphens; or an IPv6 address in brackets. */
const HOST_AND_PORT = /^(?:\[([\da-f:.]{2,45}(?:%[\w.-]{1,32})?)\]|([a-z\d._-]{1,253}))(?::(\d{1,5}))?$/
const UNIX_PATH = /^unix:(\/[^\0]{1,106})$/

export interface ServerAddress {
  /** Name of the server in errors, and in the choice of servers. Equal addresses have equal names. */
  readonly name: string
  /** The place to connect to. */
  readonly to: { readonly path: string } | { readonly host: string; readonly port: number }
}

/** Reads an address. Throws ERR_OPTION if it is none. */
export function serverAddress(text: unknown): ServerAddress {
  const found = typeof text === 'string' ? (unixAddress(text) ?? hostAddress(text.toLowerCase())) : undefined
  if (found !== undefined) return found
  // The value is not shown: an address with a user name and password in it is a frequent mistake.
  const message = "memcachedStore needs each of servers to be 'host', 'host:port', '[IPv6]:port' or 'unix:/path'"
  throw new SluiceError('ERR_OPTION', message, { option: 'servers' })
}

function unixAddress(text: string): ServerAddress | undefined {
  const path = UNIX_PATH.exec(text)?.[1]
  return path === undefined ? undefined : { name: text, to: { path } }
}

function hostAddress(text: string): ServerAddress | undefined {
  const found = HOST_AND_PORT.exec(text)
  if (found === null) return undefined
  const [, ipv6, plain, digits] = found
  const port = digits === undefined ? DEFAULT_PORT : Number(digits)
  if (port < 1 || port > HIGHEST_PORT) return undefined
  return { name: `${ipv6 === undefined ? plain : `[${ipv6}]`}:${port}`, to: { host: ipv6 ?? plain, port } }
}
