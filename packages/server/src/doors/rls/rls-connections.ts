// The connections of the RLS door, and their stop.

import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { RlsConnection } from './rls-connection.ts'

export interface RlsConnectionsOptions {
  readonly ageMs: number
  readonly onStream: (connection: RlsConnection, stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void
}

export class RlsConnections {
  readonly #options: RlsConnectionsOptions
  readonly #connections = new Set<RlsConnection>()
  #onEmpty: (() => void) | undefined

  constructor(options: RlsConnectionsOptions) {
    this.#options = options
  }

  take(socket: Socket): void {
    const { ageMs, onStream } = this.#options
    const connection = new RlsConnection(socket, ageMs)
    this.#connections.add(connection)
    // Its handshake of TLS ended after the stop began.
    if (this.#onEmpty !== undefined) connection.close()
    connection.session.on('stream', (stream, headers) => onStream(connection, stream, headers))
    connection.session.on('close', () => {
      this.#connections.delete(connection)
      if (this.#connections.size === 0) this.#onEmpty?.()
    })
  }

  /** Runs every SWEEP_MS. */
  sweep(): void {
    for (const connection of this.#connections) connection.sweep()
  }

  /** Answers open calls for at most `withinMs`, then closes all connections. */
  async close(withinMs: number): Promise<void> {
    for (const connection of this.#connections) connection.close()
    await new Promise<void>((resolve) => {
      if (this.#connections.size === 0) return resolve()
      const timer = setTimeout(resolve, withinMs)
      this.#onEmpty = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    for (const connection of this.#connections) connection.destroy()
  }
}
