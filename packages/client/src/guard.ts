// Decisions while the service fails: the breaker of the library's failure room, and the fallback.
// Invariant: the fallback decides only if the service or the network failed. A request that the service refuses fails with any fallback.

import { systemClock } from 'sluice/engines'
import { Breaker } from 'sluice/failure'
import { type CheckDecision, fallbackDecision } from './answers.ts'
import type { Counter } from './check-json.ts'
import { ClientError } from './client-error.ts'
import type { CheckedFailure } from './client-options.ts'

/** A check or reserve, with the units that a stand-in spends for it. */
export interface GuardedRequest extends Counter {
  readonly units: number
}

/** The call that enters a closed breaker, which does not look at it. */
const ANY_CALL = { operation: 'hit', charges: [] } as const

/** Returns the call that enters an open breaker. The breaker lets calls on other keys try too, and a client is the key here. */
function callOf({ clientId, units }: GuardedRequest) {
  return { operation: 'hit', charges: [{ rule: 0, key: clientId, amount: units }] } as const
}

export class ServiceGuard {
  readonly #failure: CheckedFailure
  readonly #breaker: Breaker

  constructor(failure: CheckedFailure) {
    this.#failure = failure
    this.#breaker = new Breaker(systemClock, failure.failures, failure.probeEveryMs)
  }

  /**
   * Asks the service by `ask`, unless the breaker is open. If the service cannot be asked, `decided` makes the result of the fallback's
   * decision, or the call fails.
   */
  ask<T>(request: GuardedRequest, ask: () => Promise<T>, decided: (decision: CheckDecision) => T): Promise<T> {
    const breaker = this.#breaker
    const call = breaker.isOpen ? callOf(request) : ANY_CALL
    const era = breaker.enter(call)
    if (era === undefined) return this.#fallback(request, notAsked(), decided)
    return ask().then(
      (answer) => {
        breaker.answered()
        return answer
      },
      (error: unknown) => {
        const isOfClient = !(error instanceof ClientError) || error.code === 'ERR_CLOSED'
        if (isOfClient) breaker.endedUnknown(era, call)
        else if (!error.isOutage) breaker.answered()
        else {
          breaker.failed(era, call)
          return this.#fallback(request, error, decided)
        }
        throw error
      },
    )
  }

  /** Rejects with the error under `then: 'throw'`. */
  async #fallback<T>(request: GuardedRequest, error: ClientError, decided: (decision: CheckDecision) => T): Promise<T> {
    const { then, standIn, probeEveryMs } = this.#failure
    if (then === 'throw') throw error
    if (standIn === undefined) return decided(fallbackDecision(then === 'allow', probeEveryMs, error))
    const { clientId, route, units } = request
    // The length keeps two counters apart whose texts join to the same one.
    const { allowed, limit, remaining, retryAfterMs, resetAfterMs, retryable } = standIn.hit(
      `${clientId.length} ${clientId} ${route}`,
      { cost: units },
    )
    const numbers = { limit, remaining, retryAfterMs, resetAfterMs, retryable }
    return decided({ allowed, ...numbers, isShadowDenied: false, source: 'fallback', error })
  }
}

function notAsked(): ClientError {
  return new ClientError('ERR_NOT_ASKED', 'the service has failed, so it is not asked for a while')
}
