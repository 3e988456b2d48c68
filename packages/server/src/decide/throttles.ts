// Limits that callers bring along with each call, as CL.THROTTLE does.
// Invariant: all limits have one rule name, so a key has one state, whatever limit it is checked under. Counts live in the store and in the
// shared fallback store. So limiters are dropped at a maximum, and no count is lost with them.

import { type Decision, gcra, type Limiter } from 'sluice'
import type { Reason } from '../stats/policy-stats.ts'
import type { Stats } from '../stats/stats.ts'
import type { LimiterMaker } from './limiter-maker.ts'

/** Stands for the policy in statistics. No policy can have this name, because of the brackets. */
export const THROTTLE_STATS = '(CL.THROTTLE)'

/** Name of the rule of every limit. */
const RULE = 'cl.throttle'

/** Before each key. Keys of policies begin with other letters, so their counters never meet, whatever the rules are called. */
const KEY_PREFIX = 't'

/** Maximum number of limiters. Each takes about 3 kB. */
export const MOST_LIMITS = 1000

/** A limit: `limit` units for each period, of which `burst` may come at once. */
export interface BroughtLimit {
  readonly burst: number
  readonly limit: number
  readonly periodMs: number
}

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

  constructor(options: ThrottlesOptions) {
    this.#options = options
  }

  /** Number of limits with a limiter. */
  get size(): number {
    return this.#throttles.size
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

  #make(name: string, limit: BroughtLimit): Throttle {
    const rule = gcra({ burst: limit.burst, limit: limit.limit, period: limit.periodMs, name: RULE })
    const made = new Throttle(limit, this.#options.maker.make([rule]), this.#options)
    if (this.#throttles.size >= MOST_LIMITS) this.#dropOldest()
    this.#throttles.set(name, made)
    return made
  }

  #dropOldest(): void {
    const [[name, { limiter }]] = this.#throttles
    this.#throttles.delete(name)
    limiter.close()
  }
}

/** One limit and its limiter. */
export class Throttle implements BroughtLimit {
  readonly burst: number
  readonly limit: number
  readonly periodMs: number
  readonly limiter: Limiter
  readonly #options: ThrottlesOptions

  constructor({ burst, limit, periodMs }: BroughtLimit, limiter: Limiter, options: ThrottlesOptions) {
    this.burst = burst
    this.limit = limit
    this.periodMs = periodMs
    this.limiter = limiter
    this.#options = options
  }

  is({ burst, limit, periodMs }: BroughtLimit): boolean {
    return this.burst === burst && this.limit === limit && this.periodMs === periodMs
  }

  /**
   * Decides and spends `quantity` units: 0 only looks, and a negative number gives units back. Synchronous on a store that answers at once.
   * Otherwise returns a promise, which rejects if the store failed and there is no fallback.
   */
  check(key: string, quantity: number, startMs: number): Decision | Promise<Decision> {
    const counted = KEY_PREFIX + key
    if (quantity <= 0) return this.#look(counted, -quantity)
    const answer = quantity === 1 ? this.limiter.hit(counted) : this.limiter.hit(counted, { cost: quantity })
    if (!(answer instanceof Promise)) {
      this.#record(key, quantity, answer, startMs)
      return answer
    }
    return answer.then(
      (decision) => {
        this.#record(key, quantity, decision, startMs)
        return decision
      },
      (error: unknown) => {
        const { stats } = this.#options
        stats.recordError(stats.statsOf(THROTTLE_STATS))
        throw error
      },
    )
  }

  /** Gives units back, if there are any, and looks. */
  #look(counted: string, refund: number): Decision | Promise<Decision> {
    // Both calls are made in one turn, and calls on one key keep their order.
    const refunded = refund === 0 ? undefined : this.limiter.refund(counted, refund)
    const seen = this.limiter.peek(counted, { cost: 0 })
    if (!(seen instanceof Promise)) return seen
    return Promise.all([seen, refunded]).then(([decision]) => decision)
  }

  #record(key: string, cost: number, decision: Decision, startMs: number): void {
    const { stats, answered, reasonOf } = this.#options
    answered(decision, startMs)
    stats.checkSeconds.observe((performance.now() - startMs) / 1000)
    const check = { clientId: key, route: RULE, cost }
    stats.record(stats.statsOf(THROTTLE_STATS), THROTTLE_STATS, reasonOf(decision), check, decision)
  }
}
