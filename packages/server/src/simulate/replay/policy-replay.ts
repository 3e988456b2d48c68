// Decides the requests of a log by the engine of the service: its policy book and its decider, over a memory store of its own. A request
// under a policy with one rule is decided by the rule itself, in a counter array.
// Invariant: no decision is made here, and both ways decide alike. A request that the service refuses to decide is not decided here either: its policy can only
// be reserved, or too many policies apply.

import { type Clock, type Decision, type MemoryStore, memoryStore } from 'sluice'
import type { CheckRequest } from '../../decide/check-request.ts'
import { type CheckResult, Decider } from '../../decide/decider.ts'
import { ServerError } from '../../errors.ts'
import type { Policy } from '../../policies/policy.ts'
import type { PolicyBook } from '../../policies/policy-book.ts'
import type { PolicyStats, Reason } from '../../stats/policy-stats.ts'
import { type CheckedRequest, type CheckForm, Stats } from '../../stats/stats.ts'
import type { CounterArray } from './counter-array.ts'
import { CounterArrays } from './counter-arrays.ts'

export interface PolicyReplayOptions<N> {
  readonly policies: PolicyBook
  readonly clock: Clock
  /** Maximum number of counters. */
  readonly maxKeys: number
  /** True to decide as `/v1/authorize` does, for routes that clients choose: the built-in policy counts all routes of a client together. */
  readonly asPaths: boolean
  /** Maximum number of counter arrays. */
  readonly mostArrays: number
  /** Makes the notes of a counter array. */
  readonly note: (policy: Policy) => N
}

/**
 * The outcome of a request. Shadow: a policy in shadow mode would deny it. Undecided: the service would refuse to decide it. No limit: it
 * is a descriptor to which no policy applies, and allowed.
 */
export const OUTCOME = { allowed: 0, denied: 1, shadowDenied: 2, undecided: 3, noLimit: 4 } as const
export type Outcome = (typeof OUTCOME)[keyof typeof OUTCOME]

/** Numbers of a request's client and route; −1 if they have none. */
export interface RequestNumbers {
  readonly client: number
  readonly route: number
}

/** The store is swept when it has this many times the states that were left after the last sweep. */
const SWEEP_GROWTH = 2
const LEAST_SWEPT = 65_536

/** Codes of requests that the service does not decide. */
const UNDECIDED: readonly string[] = ['ERR_NEEDS_RESERVE', 'ERR_LAYERS']

export class PolicyReplay<N> {
  /** The counter array that decided the last request; undefined if the decider did. Then `spoken` has its policy and rule. */
  array: CounterArray<N> | undefined
  /** The last result of the decider; undefined if there is none. */
  result: CheckResult | undefined
  readonly spoken: Spoken
  readonly #clock: Clock
  readonly #arrays: CounterArrays<N>
  readonly #store: MemoryStore
  readonly #decider: Decider
  readonly #form: CheckForm | undefined
  #sweepAt = LEAST_SWEPT

  constructor({ policies, clock, maxKeys, asPaths, mostArrays, note }: PolicyReplayOptions<N>) {
    this.#store = memoryStore({ clock, maxKeys })
    this.#clock = clock
    this.#arrays = new CounterArrays({ policies, most: mostArrays, note })
    this.#form = asPaths ? 'path' : undefined
    const stats = new SpokenStats(() => clock.now())
    this.spoken = stats
    this.#decider = new Decider({
      store: this.#store,
      failure: {},
      fallbackKeys: 16,
      mostHolds: 1,
      policies,
      stats,
    })
  }

  /** Decides a request at the time of the clock. With numbers it may be decided in a counter array. */
  decide(entry: CheckRequest, { client, route }: RequestNumbers, form = this.#form): Outcome {
    const array = client < 0 || route < 0 || form !== undefined ? undefined : this.#arrays.find(client, route, entry)
    this.array = array
    if (array === undefined) return this.#decideByDecider(entry, form)
    if (array.take(client, this.#clock.now(), entry.cost) === 0) return OUTCOME.allowed
    return array.isShadow ? OUTCOME.shadowDenied : OUTCOME.denied
  }

  #decideByDecider(entry: CheckRequest, form: CheckForm | undefined): Outcome {
    const result = this.#ask(entry, form)
    this.result = undefined
    if (result === OUTCOME.undecided || result === OUTCOME.noLimit) return result
    this.result = result
    if (!result.allowed) return OUTCOME.denied
    return result.isShadowDenied ? OUTCOME.shadowDenied : OUTCOME.allowed
  }

  #ask(entry: CheckRequest, form: CheckForm | undefined): CheckResult | typeof OUTCOME.undecided | typeof OUTCOME.noLimit {
    try {
      if (form === 'descriptor') {
        return (this.#decider.checkWritten({ ...entry, form }, 0) as CheckResult | undefined) ?? OUTCOME.noLimit
      }
      const result = form === 'path' ? this.#decider.checkPath(entry, 0) : this.#decider.check(entry, 0)
      // A memory store answers at once.
      return result as CheckResult
    } catch (error) {
      if (error instanceof ServerError && UNDECIDED.includes(error.code)) return OUTCOME.undecided
      throw error
    }
  }

  /** Removes counters that have ended, if there are many. Timers do not run while a log is read. */
  sweep(): void {
    if (this.#store.size < this.#sweepAt) return
    this.#store.clean()
    this.#sweepAt = Math.max(LEAST_SWEPT, this.#store.size * SWEEP_GROWTH)
  }

  /** Number of counters that were evicted because of `maxKeys`. Decisions after an eviction may differ from those of a larger store. */
  get evictions(): number {
    return this.#store.evictions
  }

  close(): void {
    this.#decider.close()
    this.#store.close()
  }
}

/** The policy and the rule of a decision. A policy in shadow mode that denies speaks before the one that allows. */
export interface Spoken {
  readonly policy: string
  readonly rule: string
}

/**
 * The statistics of a simulation are counted elsewhere. Those of the service are live ones, and would be counted in vain. The decider
 * tells them which policy speaks.
 */
class SpokenStats extends Stats implements Spoken {
  policy = ''
  #label = ''

  get rule(): string {
    return ruleIn(this.#label)
  }

  override statsOf(): PolicyStats {
    return this.other
  }

  override record(_policyStats: PolicyStats, policy: string, _reason: Reason, _check: CheckedRequest, decision: Decision): void {
    this.policy = policy
    this.#label = decision.rule
  }

  override recordMember(): void {}

  override recordShadow(): void {}
}

/** Returns the name of a rule. A decision over several policies may put the policy before it, as in `policy/rule`. */
export function ruleIn(label: string): string {
  return label.slice(label.indexOf('/') + 1)
}
