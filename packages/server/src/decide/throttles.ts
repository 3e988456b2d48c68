// Limits that callers bring along with each call, as CL.THROTTLE does.
// Invariant: all limits have one rule name, so a key has one state, whatever limit it is checked under. Counts live in the store and in the
// shared fallback store. So limiters are dropped at a maximum, and no count is lost with them.

import { type Decision, gcra } from 'sluice'
import { type PolicyStats, REASON, type Reason } from '../stats/policy-stats.ts'
import type { Stats } from '../stats/stats.ts'
import type { LimiterMaker } from './limiter-maker.ts'
import { type BroughtLimit, type CheckRun, Throttle, type ThrottledCheck } from './throttle.ts'

/**
 * Name of the rule of every limit, which also stands for the policy in statistics. No rule and no policy can have this name, because of the
 * brackets. So counters of policies and of throttles never meet, whatever their keys are.
 */
const RULE = '(CL.THROTTLE)'

/** Maximum number of limiters. Each takes about 3 kB. */
export const MOST_LIMITS = 1000

export interface ThrottlesOptions {
  readonly maker: LimiterMaker
  readonly stats: Stats
  /** Reports an answer of the store. */
  readonly answered: (decision: Decision, startMs: number) => void
  readonly reasonOf: (decision: Decision) => Reason
}

export class Throttles {
  readonly #options: ThrottlesOptions
  readonly #throttles = new Map<string, Throttle>()
  /** The throttle of the last call. Most programs use one limit many times in a row. */
  #last: Throttle | undefined
  #policyStats: PolicyStats | undefined

  constructor(options: ThrottlesOptions) {
    this.#options = options
  }

  /** Returns the throttle for a limit. Throws ERR_RULE if it cannot be counted exactly. */
  throttleFor(limit: BroughtLimit): Throttle {
    const last = this.#last
    if (last?.is(limit)) return last
    const name = `${limit.burst}/${limit.limit}/${limit.periodMs}`
    const throttle = this.#throttles.get(name) ?? this.#make(name, limit)
    this.#last = throttle
    return throttle
  }

  /** Begins a run of checks that arrived together. */
  beginRun(): CheckRun {
    return { startMs: performance.now(), atMs: this.#options.stats.now(), decided: 0, within: 0, limited: 0 }
  }

  /** Records the duration of the checks that were decided at once: each gets the same share, since the clock takes as long as a check. */
  endRun({ startMs, atMs, decided, within, limited }: CheckRun): void {
    if (decided === 0) return
    const { stats } = this.#options
    stats.checkSeconds.observe((performance.now() - startMs) / 1000 / decided, decided)
    if (within > 0) stats.count(this.#stats(), REASON.within, atMs, within)
    if (limited > 0) stats.count(this.#stats(), REASON.limit, atMs, limited)
  }

  #make(name: string, limit: BroughtLimit): Throttle {
    const rule = gcra({ burst: limit.burst, limit: limit.limit, period: limit.periodMs, name: RULE })
    const made = new Throttle(limit, this.#options.maker.make([rule]), this)
    if (this.#throttles.size >= MOST_LIMITS) this.#dropOldest()
    this.#throttles.set(name, made)
    return made
  }

  #dropOldest(): void {
    const [[name, throttle]] = this.#throttles
    this.#throttles.delete(name)
    if (this.#last === throttle) this.#last = undefined
    throttle.close()
  }

  /** Records a check that was decided at once. Checks with a usual reason are counted at the end of the run, all together. */
  recordInRun({ clientId, cost }: ThrottledCheck, decision: Decision, run: CheckRun): void {
    const { stats, reasonOf } = this.#options
    const policyStats = this.#stats()
    const reason = reasonOf(decision)
    run.decided += 1
    if (reason === REASON.within) run.within += 1
    else if (reason === REASON.limit) run.limited += 1
    else stats.count(policyStats, reason, run.atMs, 1)
    stats.describe(policyStats, RULE, reason, { clientId, route: RULE, cost, form: 'own-limit' }, decision, run.atMs)
  }

  /** Records a check that the store answered later. */
  recordLater({ clientId, cost }: ThrottledCheck, decision: Decision, startMs: number): void {
    const { stats, answered, reasonOf } = this.#options
    answered(decision, startMs)
    stats.checkSeconds.observe((performance.now() - startMs) / 1000)
    stats.record(this.#stats(), RULE, reasonOf(decision), { clientId, route: RULE, cost, form: 'own-limit' }, decision)
  }

  /** Records a check that could not be decided. */
  recordError(): void {
    this.#options.stats.recordError(this.#stats())
  }

  #stats(): PolicyStats {
    if (this.#policyStats?.isCurrent !== true) this.#policyStats = this.#options.stats.statsOf(RULE)
    return this.#policyStats
  }
}
