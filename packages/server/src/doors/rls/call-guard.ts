// Admits calls by their headers, before anything of a message is read, and ends connections whose calls stay incomplete.
// Invariant: nothing is kept of a message whose caller needs a key and has none. Calls that are incomplete are bounded in number and in
// time: grpc-js collects the bytes of a message until it is complete, for as long as its connection is open.

import { type Metadata, type ServerInterceptor, type StatusObject, status } from '@grpc/grpc-js'
import type { Logger } from 'pino'
import type { Callers } from './callers.ts'
import { grpcErrorOf } from './grpc-errors.ts'
import { type Guard, GuardedCall } from './guarded-call.ts'

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

export interface CallGuardOptions {
  readonly callers: Callers
  /** Path of the method that needs a caller with a key. */
  readonly path: string
  readonly logger: Logger
  /** Closes the connection of a peer. */
  readonly closePeer: (peer: string) => void
  readonly mostIncomplete?: Readonly<Record<keyof typeof MOST_INCOMPLETE, number>>
}

export class CallGuard implements Guard {
  readonly #options: CallGuardOptions
  readonly #most: Readonly<Record<keyof typeof MOST_INCOMPLETE, number>>
  /** The oldest first. */
  readonly #incomplete = { admitted: new Set<GuardedCall>(), open: new Set<GuardedCall>() }
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

  readonly intercept: ServerInterceptor = ({ path, requestStream }, call) =>
    new GuardedCall(call, this, { path, sinceSweep: this.#sweeps, hasStream: requestStream })

  begin(call: GuardedCall, metadata: Metadata): Pick<StatusObject, 'code' | 'details'> | undefined {
    const refusal = this.#needsKey(call) ? this.#refusalOf(metadata, call) : undefined
    if (refusal === undefined) this.#callsLike(call).add(call)
    return refusal
  }

  received(call: GuardedCall): void {
    // The caller of a stream of requests may be silent between two of them.
    if (call.hasStream) this.end(call)
  }

  end(call: GuardedCall): void {
    this.#callsLike(call).delete(call)
  }

  /** Runs every SWEEP_MS. */
  sweep(): void {
    this.#sweeps += 1
    for (const kind of ['admitted', 'open'] as const) {
      const calls = this.#incomplete[kind]
      for (const call of calls) {
        const patienceMs = calls.size > this.#most[kind] ? SWEEP_MS : INCOMPLETE_MS
        if ((this.#sweeps - call.sinceSweep) * SWEEP_MS <= patienceMs) break
        this.#close(call)
      }
    }
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #needsKey({ path }: GuardedCall): boolean {
    return path === this.#options.path
  }

  #callsLike(call: GuardedCall): Set<GuardedCall> {
    return this.#needsKey(call) ? this.#incomplete.admitted : this.#incomplete.open
  }

  /** A status alone would leave the collected bytes in memory, until the client ends its side. */
  #close(call: GuardedCall): void {
    this.end(call)
    call.sendStatus({ code: status.UNAVAILABLE, details: TOO_LATE })
    this.#options.closePeer(call.getPeer())
  }

  /** Returns undefined if the caller is admitted. */
  #refusalOf(metadata: Metadata, call: GuardedCall): Pick<StatusObject, 'code' | 'details'> | undefined {
    const { callers, logger } = this.#options
    try {
      callers.admit({ metadata, getPeer: () => call.getPeer() })
      return undefined
    } catch (error) {
      return grpcErrorOf(error, logger)
    }
  }
}
