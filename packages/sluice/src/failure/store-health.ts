// The health of one store, as this process knows it. All limiters over the store share it: if one finds the store down, the
// others do not ask it either.

import type { TimerClock } from '../core/clock.ts'
import type { GuardContext, MakeGuard } from '../core/guard.ts'
import type { Store, Tally, Timing } from '../core/store.ts'
import { Breakers } from './breakers.ts'
import { Deadlines } from './deadlines.ts'
import type { CheckedFailure } from './failure-options.ts'
import { LimiterGuard } from './limiter-guard.ts'
import { RetryLines } from './retry-lines.ts'
import { SyncGuard } from './sync-guard.ts'

export class StoreHealth {
  readonly retryLines: RetryLines
  readonly #clock: TimerClock
  /** Breakers by the options that they depend on. */
  readonly #breakers = new Map<string, Breakers>()
  readonly #deadlines = new Map<number, Deadlines>()
  #standIn: Store<'sync'> | undefined

  constructor(clock: TimerClock) {
    this.#clock = clock
    this.retryLines = new RetryLines(clock)
  }

  /** Returns the breakers for these options. Limiters with the same options share them. Other deadlines make other calls fail. */
  breakers({ timeoutMs, failures, probeEveryMs }: CheckedFailure): Breakers {
    const options = `${timeoutMs}/${failures}/${probeEveryMs}`
    const breakers = this.#breakers.get(options) ?? new Breakers(this.#clock, { failures, probeEveryMs })
    this.#breakers.set(options, breakers)
    return breakers
  }

  deadlines(timeoutMs: number): Deadlines {
    const deadlines = this.#deadlines.get(timeoutMs) ?? new Deadlines(this.#clock, timeoutMs)
    this.#deadlines.set(timeoutMs, deadlines)
    return deadlines
  }

  /** Returns the tally that answers under `then: 'local'`. All limiters over the store share one stand-in, unless they bring one. */
  standInTally({ rules, makeStandIn }: GuardContext<Timing>, { then, standIn }: CheckedFailure): Tally<'sync'> | undefined {
    if (then !== 'local') return undefined
    if (standIn !== undefined) return makeStandIn(standIn).tally(rules)
    this.#standIn = makeStandIn(this.#standIn)
    return this.#standIn.tally(rules)
  }
}

/** Makes the `guard` of an asynchronous store. Call it once for each store. */
export function storeGuard(clock: TimerClock): MakeGuard<'async'> {
  const health = new StoreHealth(clock)
  return (context) => new LimiterGuard(context, health)
}

/** Makes the `guard` of a synchronous store that can fail. Call it once for each store. */
export function syncStoreGuard(clock: TimerClock): MakeGuard<'sync'> {
  const health = new StoreHealth(clock)
  return (context) => new SyncGuard(context, health)
}
