// Ends connections whose calls stay incomplete.
// Invariant: calls that are incomplete are bounded in number and in time, because the bytes of a message are kept until it is complete. So
// are the headers of a call until its answer was sent. Callers without a key must therefore read their answers in time, too.

/** Interval at which the time limit is checked. */
export const SWEEP_MS = 1000

/** Time for a whole request, and for its answer if nobody needs a key for it. Clients send headers and message together. */
export const INCOMPLETE_MS = 10_000

/**
 * Calls that have begun and are not complete for a second: those of admitted callers, and those of methods that need no key. Within
 * a second there may be more, because a client may send the headers of all its calls before their messages.
 */
export const MOST_INCOMPLETE = { admitted: 10_000, open: 256 } as const

type Kind = keyof typeof MOST_INCOMPLETE

/** A call whose request has begun. */
export interface BegunCall {
  readonly kind: Kind
  /** The sweep of the guard after which the call began. */
  readonly sinceSweep: number
  /** A reset of the stream alone would let the client begin the next one. */
  destroyConnection(): void
}

export class CallGuard {
  /** Number of sweeps. */
  sweeps = 0
  readonly #most: Readonly<Record<Kind, number>>
  /** The oldest first. */
  readonly #incomplete = { admitted: new Set<BegunCall>(), open: new Set<BegunCall>() }

  constructor(most: Readonly<Record<Kind, number>> = MOST_INCOMPLETE) {
    this.#most = most
  }

  /** Number of incomplete calls. */
  get incomplete(): number {
    return this.#incomplete.admitted.size + this.#incomplete.open.size
  }

  begin(call: BegunCall): void {
    this.#incomplete[call.kind].add(call)
  }

  /** The call is complete, or its caller has gone. */
  end(call: BegunCall): void {
    this.#incomplete[call.kind].delete(call)
  }

  /** Runs every SWEEP_MS. */
  sweep(): void {
    this.sweeps += 1
    for (const kind of ['admitted', 'open'] as const) {
      const calls = this.#incomplete[kind]
      for (const call of calls) {
        const patienceMs = calls.size > this.#most[kind] ? SWEEP_MS : INCOMPLETE_MS
        if ((this.sweeps - call.sinceSweep) * SWEEP_MS <= patienceMs) break
        calls.delete(call)
        call.destroyConnection()
      }
    }
  }
}
