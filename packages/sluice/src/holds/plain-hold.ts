// A hold that was reserved in the short way of a memory store. It is also settled and cancelled there. Everything else is done by an
// `OpenHold`, which is made when it is needed.

import { checkCost } from '../core/cost.ts'
import type { Decision } from '../core/decision.ts'
import type { Duration } from '../core/duration.ts'
import type { LimiterContext } from '../core/limiter-context.ts'
import type { Result, Timing } from '../core/store.ts'
import type { Cost } from '../core/subject.ts'
import type { PlainHolds, RowHold } from '../stores/memory/plain-holds.ts'
import { type EndingHold, OpenHold } from './open-hold.ts'

export class PlainHold<T extends Timing> implements EndingHold<T> {
  readonly #context: LimiterContext<T>
  readonly #plain: PlainHolds
  readonly #key: string
  readonly #hold: RowHold
  #hasEnded = false
  #open: OpenHold<T> | undefined

  constructor(context: LimiterContext<T>, plain: PlainHolds, key: string, hold: RowHold) {
    this.#context = context
    this.#plain = plain
    this.#key = key
    this.#hold = hold
  }

  get allowed(): boolean {
    return true
  }

  get decision(): Decision {
    return this.#hold.decision
  }

  get granted(): Readonly<Record<string, number>> {
    const [{ name }] = this.#context.limiter.rules
    // `fromEntries` also makes a property of a rule that is called `__proto__`.
    return Object.fromEntries([[name, this.#hold.units]])
  }

  get expiresAt(): number {
    return this.#open === undefined ? this.#hold.expiresAt : this.#open.expiresAt
  }

  get token(): string {
    return this.#opened().token
  }

  settle(used?: Cost): Result<T, void> {
    if (this.#open !== undefined || typeof used === 'object') return this.#opened().settle(used)
    if (used !== undefined) checkCost(used, 0)
    return this.#end(used ?? -1) ? (undefined as Result<T, void>) : this.#opened().settle(used)
  }

  cancel(): Result<T, void> {
    return this.#open === undefined && this.#end(0) ? (undefined as Result<T, void>) : this.#opened().cancel()
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
  #end(used: number): boolean {
    if (this.#hasEnded || this.#context.isClosed()) return false
    this.#hasEnded = this.#plain.end(this.#hold, used)
    return this.#hasEnded
  }

  #opened(): OpenHold<T> {
    if (this.#open === undefined) {
      const { id, units, expiresAt, decision } = this.#hold
      this.#open = new OpenHold(this.#context, {
        terms: { id, ttlMs: 0, isCharged: true, most: 0 },
        charges: [{ rule: 0, key: this.#key, amount: units, least: units }],
        granted: [units],
        allowed: true,
        isCounted: true,
        decision,
        expiresAt,
      })
    }
    return this.#open
  }
}
