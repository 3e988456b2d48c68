// A hold that was reserved in a short way of a memory store. It is also settled and cancelled there. Everything else is done by an
// `OpenHold`, which is made when it is needed.

import type { Decision } from '../core/decision.ts'
import type { Duration } from '../core/duration.ts'
import type { LimiterContext } from '../core/limiter-context.ts'
import type { Result, Timing } from '../core/store.ts'
import type { Cost } from '../core/subject.ts'
import type { ShortHold, ShortWay } from '../stores/memory/short-hold.ts'
import { type EndingHold, OpenHold } from './open-hold.ts'

export class PlainHold<T extends Timing, H extends ShortHold = ShortHold> implements EndingHold<T> {
  readonly #context: LimiterContext<T>
  readonly #shortWay: ShortWay<H>
  readonly #hold: H
  #hasEnded = false
  #open: OpenHold<T> | undefined

  constructor(context: LimiterContext<T>, shortWay: ShortWay<H>, hold: H) {
    this.#context = context
    this.#shortWay = shortWay
    this.#hold = hold
  }

  get allowed(): boolean {
    return true
  }

  get decision(): Decision {
    return this.#hold.decision
  }

  get granted(): Readonly<Record<string, number>> {
    const { rules } = this.#context.limiter
    // `fromEntries` also makes a property of a rule that is called `__proto__`.
    return Object.fromEntries(this.#shortWay.chargesOf(this.#hold).map(({ rule, amount }) => [rules[rule].name, amount]))
  }

  get expiresAt(): number {
    return this.#open === undefined ? this.#hold.expiresAt : this.#open.expiresAt
  }

  get token(): string {
    return this.#opened().token
  }

  settle(used?: Cost): Result<T, void> {
    return this.#end(used) ? (undefined as Result<T, void>) : this.#opened().settle(used)
  }

  cancel(): Result<T, void> {
    return this.#end(0) ? (undefined as Result<T, void>) : this.#opened().cancel()
  }

  extend(ttl: Duration): Result<T, void> {
    return this.#opened().extend(ttl)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.endQuietly('cancel')
  }

  async endQuietly(operation: 'settle' | 'cancel'): Promise<void> {
    if (!this.#hasEnded) await this.#opened().endQuietly(operation)
  }

  /** Ends the hold in the short way. Returns false if this is not possible. */
  #end(used: Cost | undefined): boolean {
    if (this.#hasEnded || this.#open !== undefined || this.#context.isClosed()) return false
    this.#hasEnded = this.#shortWay.end(this.#hold, used)
    return this.#hasEnded
  }

  #opened(): OpenHold<T> {
    if (this.#open === undefined) {
      const { id, expiresAt, decision } = this.#hold
      const charges = this.#shortWay.chargesOf(this.#hold)
      this.#open = new OpenHold(this.#context, {
        terms: { id, ttlMs: 0, isCharged: true, most: 0 },
        charges,
        granted: charges.map(({ amount }) => amount),
        allowed: true,
        isCounted: true,
        decision,
        expiresAt,
      })
    }
    return this.#open
  }
}
