// Decides the requests of a log by the engine of the service: its policy book and its decider, over a memory store of its own.
// Invariant: no decision is made here. A request that the service refuses to decide is not decided here either: its policy can only
// be reserved, or too many policies apply.

import { type Clock, type Decision, type MemoryStore, memoryStore } from 'sluice'
import type { CheckRequest } from '../../decide/check-request.ts'
import { type CheckResult, Decider } from '../../decide/decider.ts'
import { ServerError } from '../../errors.ts'
import type { PolicyBook } from '../../policies/policy-book.ts'
import type { PolicyStats, Reason } from '../../stats/policy-stats.ts'
import { type CheckedRequest, type CheckForm, Stats } from '../../stats/stats.ts'

export interface PolicyReplayOptions {
  readonly policies: PolicyBook
  readonly clock: Clock
  /** Maximum number of counters. */
  readonly maxKeys: number
  /** True to decide as `/v1/authorize` does, for routes that clients choose: the built-in policy counts all routes of a client together. */
  readonly asPaths: boolean
}

/** The store is swept when it has this many times the states that were left after the last sweep. */
const SWEEP_GROWTH = 2
const LEAST_SWEPT = 65_536

/** Codes of requests that the service does not decide. */
const UNDECIDED: readonly string[] = ['ERR_NEEDS_RESERVE', 'ERR_LAYERS']

/** The result for a descriptor to which no policy applies. It is allowed. */
export const NO_LIMIT = 'no limit'

/** Undefined if the service would refuse the request. */
export type Replayed = CheckResult | typeof NO_LIMIT | undefined

export class PolicyReplay {
  /** The policy and rule that spoke in the last decision. */
  readonly spoken: Spoken
  readonly #store: MemoryStore
  readonly #decider: Decider
  readonly #form: CheckForm | undefined
  #sweepAt = LEAST_SWEPT

  constructor({ policies, clock, maxKeys, asPaths }: PolicyReplayOptions) {
    this.#store = memoryStore({ clock, maxKeys })
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

  /** Decides a request at the time of the clock. */
  decide(entry: CheckRequest, form = this.#form): Replayed {
    try {
      if (form === 'descriptor') return (this.#decider.checkWritten(entry, 0) as CheckResult | undefined) ?? NO_LIMIT
      const result = form === 'path' ? this.#decider.checkPath(entry, 0) : this.#decider.check(entry, 0)
      // A memory store answers at once.
      return result as CheckResult
    } catch (error) {
      if (error instanceof ServerError && UNDECIDED.includes(error.code)) return undefined
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
