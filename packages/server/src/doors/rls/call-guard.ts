// Admits calls by their headers, before anything of a message is read, and ends connections whose calls stay incomplete.
// Invariant: nothing is kept of a message whose caller needs a key and has none. Calls that are incomplete are bounded in number and in
// time: grpc-js collects the bytes of a message until it is complete, for as long as its connection is open.

import {
  type Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  type StatusObject,
  status,
} from '@grpc/grpc-js'
import type { Logger } from 'pino'
import type { Callers } from './callers.ts'
import { grpcErrorOf } from './grpc-errors.ts'

/** Interval at which the time limit is checked. */
export const SWEEP_MS = 1000

/** Time for a whole request. Clients send headers and message together. */
export const INCOMPLETE_MS = 10_000

/**
 * Calls whose request has begun and is not complete for a second: those of admitted callers, and those of methods that need no key. Within
 * a second there may be more, because a client may send the headers of all its calls before their messages.
 */
export const MOST_INCOMPLETE = { admitted: 10_000, open: 256 } as const

const TOO_LATE = 'the request did not arrive in time'

interface Incomplete {
  readonly call: ServerInterceptingCallInterface
  readonly sinceSweep: number
}

export interface CallGuardOptions {
  readonly callers: Callers
  /** Path of the method that needs a caller with a key. */
  readonly path: string
  readonly logger: Logger
  /** Closes the connection of a peer. */
  readonly closePeer: (peer: string) => void
  readonly mostIncomplete?: Readonly<Record<keyof typeof MOST_INCOMPLETE, number>>
}

export class CallGuard {
  readonly #options: CallGuardOptions
  readonly #most: Readonly<Record<keyof typeof MOST_INCOMPLETE, number>>
  /** The oldest first. */
  readonly #incomplete = { admitted: new Set<Incomplete>(), open: new Set<Incomplete>() }
  readonly #timer: NodeJS.Timeout
  #sweeps = 0

  constructor(options: CallGuardOptions) {
    this.#options = options
    this.#most = options.mostIncomplete ?? MOST_INCOMPLETE
    this.#timer = setInterval(() => this.sweep(), SWEEP_MS).unref()
  }

  /** Number of incomplete calls. */
  get incomplete(): number {
    return this.#incomplete.admitted.size + this.#incomplete.open.size
  }

  readonly intercept: ServerInterceptor = ({ path, requestStream }, call) => {
    const kind = path === this.#options.path ? 'admitted' : 'open'
    const calls = this.#incomplete[kind]
    const entry: Incomplete = { call, sinceSweep: this.#sweeps }
    const complete = (): void => {
      calls.delete(entry)
    }
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, proceed) => {
            if (kind === 'admitted') {
              const refusal = this.#refusalOf(metadata, call)
              // Without `proceed` nothing of the message is read.
              if (refusal !== undefined) return call.sendStatus(refusal)
            }
            calls.add(entry)
            proceed(metadata)
          },
          onReceiveMessage: (message, proceed) => {
            // The caller of a stream of requests may be silent between two of them.
            if (requestStream) complete()
            proceed(message)
          },
          onReceiveHalfClose: (proceed) => {
            complete()
            proceed()
          },
          onCancel: complete,
        }),
    })
  }

  /** Runs every SWEEP_MS. */
  sweep(): void {
    this.#sweeps += 1
    for (const kind of ['admitted', 'open'] as const) {
      const calls = this.#incomplete[kind]
      for (const entry of calls) {
        const patienceMs = calls.size > this.#most[kind] ? SWEEP_MS : INCOMPLETE_MS
        if ((this.#sweeps - entry.sinceSweep) * SWEEP_MS <= patienceMs) break
        this.#end(calls, entry)
      }
    }
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** A status alone would leave the collected bytes in memory, until the client ends its side. */
  #end(calls: Set<Incomplete>, entry: Incomplete): void {
    calls.delete(entry)
    entry.call.sendStatus({ code: status.UNAVAILABLE, details: TOO_LATE })
    this.#options.closePeer(entry.call.getPeer())
  }

  /** Returns undefined if the caller is admitted. */
  #refusalOf(metadata: Metadata, call: ServerInterceptingCallInterface): Pick<StatusObject, 'code' | 'details'> | undefined {
    const { callers, logger } = this.#options
    try {
      callers.admit({ metadata, getPeer: () => call.getPeer() })
      return undefined
    } catch (error) {
      return grpcErrorOf(error, logger)
    }
  }
}
