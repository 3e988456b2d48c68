// The gRPC server of the RLS door: its services, and its bounds.

import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { Server } from '@grpc/grpc-js'
import type { Service } from '../../service.ts'
import { CallGuard, type MOST_INCOMPLETE, SWEEP_MS } from './call-guard.ts'
import { CallRouter } from './call-router.ts'
import { Callers } from './callers.ts'
import { Health } from './health.ts'
import { LibraryStreams } from './library-streams.ts'
import { loadProtocol, MOST_BYTES } from './protocol.ts'
import { RateLimitCalls } from './rate-limit-calls.ts'
import { RateLimitService } from './rate-limit-service.ts'
import { reflection } from './reflection.ts'
import { RlsConnections } from './rls-connections.ts'

export interface RlsServerOptions {
  readonly service: Service
  readonly allOrNothing: boolean
  readonly hasClientCertificates: boolean
  readonly connectionAgeMs: number
  readonly mostIncomplete?: Readonly<Record<keyof typeof MOST_INCOMPLETE, number>>
  readonly mostWatchers?: number
}

export class RlsServer {
  readonly guard: CallGuard
  readonly connections: RlsConnections
  readonly #server: Server
  readonly #library: LibraryStreams
  readonly #health: Health
  readonly #timer: NodeJS.Timeout

  constructor({ service, allOrNothing, hasClientCertificates, connectionAgeMs, ...bounds }: RlsServerOptions) {
    const { logger } = service
    const protocol = loadProtocol()
    const rateLimit = new RateLimitService(new RateLimitCalls(service.decider, allOrNothing), logger)
    this.#health = new Health(service.status, bounds.mostWatchers)
    this.#server = new Server({ 'grpc.max_receive_message_length': MOST_BYTES, 'grpc.enable_channelz': 0 })
    this.#server.addService(protocol.rateLimit, { ShouldRateLimit: rateLimit.shouldRateLimit })
    this.#server.addService(protocol.health, this.#health.handlers)
    this.#server.addService(protocol.reflection, { ...reflection(protocol.root) })
    const library = new LibraryStreams(this.#server)
    this.#library = library
    const guard = new CallGuard(bounds.mostIncomplete)
    this.guard = guard
    const callers = new Callers(service, hasClientCertificates)
    const router = new CallRouter({ protocol, callers, logger, guard, library, rateLimit })
    this.connections = new RlsConnections({ ageMs: connectionAgeMs, onStream: router.route })
    this.#timer = setInterval(() => this.#sweep(), SWEEP_MS).unref()
  }

  readonly take = (socket: Socket): void => {
    if (socket instanceof TLSSocket && socket.alpnProtocol !== 'h2') this.#library.refuse(socket)
    else this.connections.take(socket)
  }

  beginDrain(): void {
    this.#health.tell()
  }

  /** Answers open calls for at most `withinMs`, then closes all connections. */
  async close(withinMs: number): Promise<void> {
    this.#health.close()
    clearInterval(this.#timer)
    await this.connections.close(withinMs)
    this.#server.forceShutdown()
  }

  #sweep(): void {
    this.guard.sweep()
    this.connections.sweep()
  }
}
