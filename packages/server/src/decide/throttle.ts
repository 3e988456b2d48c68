// One limit that callers bring along, and its limiter.

import type { Decision, Limiter } from 'sluice'
import type { Throttles } from './throttles.ts'

/** A limit: `limit` units for each period, of which `burst` may come at once. */
export interface BroughtLimit {
  readonly burst: number
  readonly limit: number
  readonly periodMs: number
}

/** Checks that arrived together. */
export interface CheckRun {
  /** Start of the run, on the clock of durations and on the clock of statistics. */
  readonly startMs: number
  readonly atMs: number
  /** Number of checks that were decided at once, and of those with the two usual reasons. */
  decided: number
  within: number
  limited: number
}

/** A check for statistics. */
export interface ThrottledCheck {
  /** The key. */
  readonly clientId: string
  readonly cost: number
}

/** Stands for the empty key, which limiters do not take. Keys have one byte in each character, so no other key is equal. */
const EMPTY_KEY = '\u0100'

export class Throttle implements BroughtLimit {
  readonly burst: number
  readonly limit: number
  readonly periodMs: number
  readonly #limiter: Limiter
  readonly #throttles: Throttles

  constructor({ burst, limit, periodMs }: BroughtLimit, limiter: Limiter, throttles: Throttles) {
    this.burst = burst
    this.limit = limit
    this.periodMs = periodMs
    this.#limiter = limiter
    this.#throttles = throttles
  }

  is({ burst, limit, periodMs }: BroughtLimit): boolean {
    return this.burst === burst && this.limit === limit && this.periodMs === periodMs
  }

  close(): void {
    this.#limiter.close()
  }

  /**
   * Decides and spends `quantity` units: 0 only looks, and a negative number gives units back. Synchronous on a store that answers at once.
   * Otherwise returns a promise, which rejects if the store failed and there is no fallback. `key` has one byte in each character.
   */
  check(key: string, quantity: number, run: CheckRun): Decision | Promise<Decision> {
    const counted = key === '' ? EMPTY_KEY : key
    if (quantity <= 0) return this.#look(counted, -quantity)
    const answer = quantity === 1 ? this.#limiter.hit(counted) : this.#limiter.hit(counted, { cost: quantity })
    if (answer instanceof Promise) return this.#later(answer, key, quantity, run)
    this.#throttles.recordInRun({ clientId: key, cost: quantity }, answer, run)
    return answer
  }

  async #later(answer: Promise<Decision>, clientId: string, cost: number, { startMs }: CheckRun): Promise<Decision> {
    try {
      const decision = await answer
      this.#throttles.recordLater({ clientId, cost }, decision, startMs)
      return decision
    } catch (error) {
      this.#throttles.recordError()
      throw error
    }
  }

  /** Gives units back, if there are any, and looks. */
  #look(counted: string, refund: number): Decision | Promise<Decision> {
    // Both calls are made in one turn, and calls on one key keep their order.
    const refunded = refund === 0 ? undefined : this.#limiter.refund(counted, refund)
    const seen = this.#limiter.peek(counted, { cost: 0 })
    if (!(seen instanceof Promise)) return seen
    return Promise.all([seen, refunded]).then(([decision]) => decision)
  }
}
