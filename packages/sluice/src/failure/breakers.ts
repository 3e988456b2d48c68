// A breaker for each part of a store that fails by itself, such as a server of a cluster: one that is down must not close the
// others. A store without parts has one breaker. Limiters over one store share them: what one has found out, all know.
// What must stay true: whoever has heard of a failure hears of its end, also when the failed part's keys have moved to another.

import type { Call } from '../core/call.ts'
import type { TimerClock } from '../core/clock.ts'
import { Breaker } from './breaker.ts'

/** When a breaker opens, and how long a call may take before it counts as failed. */
interface Break {
  readonly timeoutMs: number
  readonly failures: number
  readonly probeEveryMs: number
}

/** Of each store and way to break, the breaker of each part. */
const SHARED = new WeakMap<object, Map<string, Map<string, Breaker>>>()

function sharedBreakers(store: object, { timeoutMs, failures, probeEveryMs }: Break): Map<string, Breaker> {
  const ofStore = SHARED.get(store) ?? new Map<string, Map<string, Breaker>>()
  SHARED.set(store, ofStore)
  const way = `${timeoutMs}/${failures}/${probeEveryMs}`
  const shared = ofStore.get(way) ?? new Map<string, Breaker>()
  ofStore.set(way, shared)
  return shared
}

/** Servers come and go: beyond so many, what is known of them is forgotten. */
const MOST_PARTS = 1000

/** The part of a store that has no parts. */
const WHOLE = ''

export class Breakers {
  readonly #make: () => Breaker
  readonly #partOf: (call: Call) => string
  readonly #breakers: Map<string, Breaker>
  /** For each part that is failing the last call that failed there, to find out where it has gone. */
  readonly #failedCalls = new Map<string, Call>()

  constructor(store: { readonly clock: TimerClock }, way: Break, partOf: ((call: Call) => string) | undefined) {
    this.#make = () => new Breaker(store.clock, way.failures, way.probeEveryMs)
    this.#breakers = sharedBreakers(store, way)
    this.#partOf = partOf ?? (() => WHOLE)
  }

  /** The breaker that a `call` has to pass. */
  of(call: Call): Breaker {
    const part = this.#partOf(call)
    let breaker = this.#breakers.get(part)
    if (breaker === undefined) {
      if (this.#breakers.size === MOST_PARTS) this.#forget()
      breaker = this.#make()
      this.#breakers.set(part, breaker)
    }
    return breaker
  }

  /** The `call` that entered in `era` has failed. */
  failed(call: Call, breaker: Breaker, era: number): void {
    breaker.failed(era)
    this.turnedAway(call)
  }

  /** The `call` was not let through. */
  turnedAway(call: Call): void {
    this.#failedCalls.set(this.#partOf(call), call)
  }

  /** The `call` was answered; → whether that ends a failure. */
  answered(call: Call, breaker: Breaker): boolean {
    breaker.answered()
    if (this.#failedCalls.size === 0) return false
    const part = this.#partOf(call)
    const ended = [...this.#failedCalls].filter(([failed, itsCall]) => failed === part || this.#partOf(itsCall) === part)
    for (const [failed] of ended) {
      this.#failedCalls.delete(failed)
      if (failed !== part) this.#breakers.delete(failed)
    }
    return ended.length > 0
  }

  #forget(): void {
    this.#breakers.clear()
    this.#failedCalls.clear()
  }
}
