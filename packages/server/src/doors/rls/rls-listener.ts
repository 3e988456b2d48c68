// Accepts connections for the gRPC server, with or without TLS, and hands them over.
// Invariant: the number of connections is bounded, and a TLS handshake takes a bounded time.

import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls'
import type { ListenAddress } from '../../config/addresses.ts'
import type { TlsFiles } from '../../config/tls-files.ts'
import { removeStaleSocket } from '../stale-socket.ts'

const MOST_CONNECTIONS = 10_000

const HANDSHAKE_MS = 5000

export interface ListenerTls extends TlsFiles {
  /** Certificates of the authorities that sign client certificates. Undefined: clients need none. */
  readonly ca: Buffer | undefined
}

export class RlsListener {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  constructor(tls: ListenerTls | undefined, onConnection: (socket: Socket) => void, mostConnections = MOST_CONNECTIONS) {
    const take = (socket: Socket): void => {
      socket.setNoDelay(true)
      onConnection(socket)
    }
    this.#server = tls === undefined ? createServer(take) : createTlsServer(tlsOptions(tls), take)
    this.#server.maxConnections = mostConnections
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  /** Resolves to the port, or undefined for a socket file. */
  async listen(address: ListenAddress): Promise<number | undefined> {
    if ('socket' in address) await removeStaleSocket(address.socket)
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen('socket' in address ? { path: address.socket } : { host: address.host, port: address.port }, () => {
        this.#server.removeListener('error', reject)
        resolve()
      })
    })
    const bound = this.#server.address()
    return typeof bound === 'object' && bound !== null ? bound.port : undefined
  }

  /** For new connections. */
  useTls(tls: ListenerTls): void {
    ;(this.#server as TlsServer).setSecureContext(tlsOptions(tls))
  }

  /** Accepts no more connections. */
  stop(): void {
    this.#server.close()
  }

  /** Closes every connection, also one that has not finished its handshake. */
  destroy(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}

function tlsOptions({ cert, key, minVersion, ca }: ListenerTls) {
  const clients = ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: true }
  return { cert, key, minVersion, ALPNProtocols: ['h2'], handshakeTimeout: HANDSHAKE_MS, ...clients }
}
