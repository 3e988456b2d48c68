// Opens sockets of Node, with or without TLS.

import { connect, type Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions as TlsOptions } from 'node:tls'
import type { ServerAddress } from './server-address.ts'

export function openSocket({ to }: ServerAddress, tls: TlsOptions | undefined): Socket {
  // Small commands must not wait for the acknowledgement of earlier ones.
  const options = { ...to, noDelay: true }
  return tls === undefined ? connect(options) : connectTls({ ...tls, ...options })
}
