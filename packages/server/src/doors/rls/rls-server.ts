// The gRPC server of the RLS door: its services, and its bounds.

import type { Socket } from 'node:net'
import { type ConnectionInjector, Server, ServerCredentials } from '@grpc/grpc-js'
import type { Service } from '../../service.ts'
import { CallGuard, type CallGuardOptions } from './call-guard.ts'
import { Callers } from './callers.ts'
import { Health } from './health.ts'
import { loadProtocol } from './protocol.ts'
import { RateLimitCalls } from './rate-limit-calls.ts'
import { shouldRateLimit } from './rate-limit-service.ts'
import { reflection } from './reflection.ts'

/**
 * Maximum size of a request. Clients choose the values of descriptors: if a request is refused, a proxy may let it pass without a
 * limit. 60 kB of headers, Envoy's default maximum, fit into each of 16 descriptors.
 */
export const MOST_BYTES = 1024 * 1024

/** Streams at once on one connection. Envoy opens another connection above that. */
export const MOST_STREAMS = 1000

/** Megabytes that a connection may keep for its streams. */
const SESSION_MEGABYTES = 16

/** A peer that is gone is noticed by pings. An idle connection is closed after a longer time than Envoy keeps one. */
const PING_EVERY_MS = 60_000
const PING_WITHIN_MS = 20_000
const IDLE_MS = 2 * 3_600_000

/** Time that open streams have when a connection has reached its age. */
const AGE_GRACE_MS = 10_000

export interface RlsServerOptions extends Pick<CallGuardOptions, 'closePeer' | 'mostIncomplete'> {
  readonly service: Service
  readonly allOrNothing: boolean
  readonly hasClientCertificates: boolean
  readonly connectionAgeMs: number
  readonly mostWatchers?: number
}

export class RlsServer {
  readonly #server: Server
  readonly #health: Health
  readonly #connections: ConnectionInjector
  readonly guard: CallGuard

  constructor({ service, allOrNothing, hasClientCertificates, connectionAgeMs, mostWatchers, ...guarded }: RlsServerOptions) {
    const protocol = loadProtocol()
    const callers = new Callers(service, hasClientCertificates)
    const { path } = protocol.rateLimit.ShouldRateLimit
    this.guard = new CallGuard({ callers, path, logger: service.logger, ...guarded })
    this.#server = new Server({
      'grpc.max_receive_message_length': MOST_BYTES,
      'grpc.max_concurrent_streams': MOST_STREAMS,
      'grpc-node.max_session_memory': SESSION_MEGABYTES,
      'grpc.keepalive_time_ms': PING_EVERY_MS,
      'grpc.keepalive_timeout_ms': PING_WITHIN_MS,
      'grpc.max_connection_idle_ms': IDLE_MS,
      'grpc.max_connection_age_ms': connectionAgeMs,
      'grpc.max_connection_age_grace_ms': AGE_GRACE_MS,
      'grpc.enable_channelz': 0,
      interceptors: [this.guard.intercept],
    })
    const calls = new RateLimitCalls(service.decider, allOrNothing)
    this.#health = new Health(service.status, mostWatchers)
    this.#server.addService(protocol.rateLimit, { ShouldRateLimit: shouldRateLimit({ service, calls }) })
    this.#server.addService(protocol.health, this.#health.handlers)
    this.#server.addService(protocol.reflection, { ...reflection(protocol.root) })
    // The listener speaks TLS.
    this.#connections = this.#server.createConnectionInjector(ServerCredentials.createInsecure())
  }

  readonly take = (socket: Socket): void => this.#connections.injectConnection(socket)

  beginDrain(): void {
    this.#health.tell()
  }

  /** Answers open calls for at most `withinMs`, then closes all connections. */
  async close(withinMs: number): Promise<void> {
    this.#health.close()
    this.guard.close()
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, withinMs)
      this.#server.tryShutdown(() => {
        clearTimeout(timer)
        resolve()
      })
    })
    this.#server.forceShutdown()
  }
}
