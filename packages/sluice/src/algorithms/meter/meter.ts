// A meter: it owes `debt` units, drains `drainPerTick` of them every tick and holds at most `limit` tokens' worth.
// Token bucket, GCRA and leaky bucket are this one sum in different words; no fraction of a token is ever lost,
// because a token is `unitsPerToken` whole units. Cells: expiresAt, debt, since, msPerToken.

import { SluiceError } from '../../core/errors.ts'
import type { Rule } from '../../core/rule.ts'
import { ceilDiv, floorDiv, greatestCommonDivisor, MAX, MAX_DURATION_MS } from '../../core/whole-numbers.ts'

export interface MeterNumbers {
  readonly name: string
  /** What the rule is called in error messages. */
  readonly of: string
  readonly capacity: number
  /** Tokens that come back every `everyMs`. */
  readonly refill: number
  readonly everyMs: number
  /** `'smooth'`: a little every millisecond. `'stepped'`: all of `refill` at each whole `everyMs`. */
  readonly style: 'smooth' | 'stepped'
}

const EXPIRES_AT = 0
const DEBT = 1
const SINCE = 2
const MS_PER_TOKEN = 3

export class Meter implements Rule {
  /** The two styles count in different units, so their states must not meet. */
  readonly algorithm: 'meter' | 'stepped-meter'
  readonly name: string
  readonly limit: number
  readonly windowMs: number
  readonly countsDenied = false
  readonly width = 4
  readonly mostUsed: number
  readonly unitsPerToken: number
  readonly drainPerTick: number
  readonly tickMs: number
  /** Tells states written at another rate apart. The one number here that may have a fraction: it is compared, never summed. */
  readonly msPerToken: number

  constructor({ name, of, capacity, refill, everyMs, style }: MeterNumbers) {
    const shared = greatestCommonDivisor(refill, everyMs)
    const smooth = style === 'smooth'
    this.algorithm = smooth ? 'meter' : 'stepped-meter'
    this.name = name
    this.limit = capacity
    this.unitsPerToken = smooth ? everyMs / shared : 1
    this.drainPerTick = smooth ? refill / shared : refill
    this.tickMs = smooth ? 1 : everyMs
    this.msPerToken = everyMs / refill
    this.mostUsed = floorDiv(Math.min(MAX, floorDiv(MAX_DURATION_MS, this.tickMs) * this.drainPerTick), this.unitsPerToken)
    if (capacity > this.mostUsed) {
      throw new SluiceError(
        'ERR_RULE',
        `${of} with ${capacity} at ${refill} per ${everyMs} ms cannot be counted exactly below 2^53: use a smaller capacity, or a rate with smaller numbers`,
      )
    }
    this.windowMs = ceilDiv(capacity * this.unitsPerToken, this.drainPerTick) * this.tickMs
    Object.freeze(this)
  }

  settle(cells: Float64Array, at: number, nowMs: number): void {
    const expiresAt = cells[at + EXPIRES_AT]
    if (expiresAt === 0) return
    if (nowMs >= expiresAt) return this.#owe(cells, at, nowMs, 0)
    const { tickMs, drainPerTick, unitsPerToken, msPerToken } = this
    if (cells[at + MS_PER_TOKEN] !== msPerToken) {
      // Written at another rate: what is still owed, in tokens (rounded up), is owed at this one.
      const tokens = (expiresAt - nowMs) / cells[at + MS_PER_TOKEN]
      return this.#owe(cells, at, nowMs, Math.min(Math.ceil(tokens * unitsPerToken), this.mostUsed * unitsPerToken))
    }
    const since = cells[at + SINCE]
    // The clock stepped back: nothing drains, nothing is taken, and draining goes on from now.
    if (nowMs < since) return this.#owe(cells, at, nowMs, cells[at + DEBT])
    const ticks = floorDiv(nowMs - since, tickMs)
    cells[at + DEBT] -= ticks * drainPerTick
    cells[at + SINCE] = since + ticks * tickMs
  }

  waitMs(cells: Float64Array, at: number, nowMs: number, cost: number): number {
    const { limit, unitsPerToken } = this
    if (cost > limit) return Number.POSITIVE_INFINITY
    const excess = cells[at + DEBT] - (limit - cost) * unitsPerToken
    if (excess <= 0) return 0
    return cells[at + SINCE] + ceilDiv(excess, this.drainPerTick) * this.tickMs - nowMs
  }

  spend(cells: Float64Array, at: number, nowMs: number, cost: number): void {
    const since = cells[at + EXPIRES_AT] === 0 ? nowMs : cells[at + SINCE]
    const debt = cells[at + DEBT] + cost * this.unitsPerToken
    this.#owe(cells, at, since, Math.min(debt, this.mostUsed * this.unitsPerToken))
  }

  used(cells: Float64Array, at: number): number {
    return ceilDiv(cells[at + DEBT], this.unitsPerToken)
  }

  put(cells: Float64Array, at: number, nowMs: number, used: number): void {
    this.#owe(cells, at, nowMs, used * this.unitsPerToken)
  }

  refund(cells: Float64Array, at: number, _nowMs: number, cost: number): void {
    this.#owe(cells, at, cells[at + SINCE], Math.max(0, cells[at + DEBT] - cost * this.unitsPerToken))
  }

  /** Owes `debt` units from `since` on; owing nothing is the state of a key never hit. */
  #owe(cells: Float64Array, at: number, since: number, debt: number): void {
    const owes = debt > 0
    cells[at + EXPIRES_AT] = owes ? since + ceilDiv(debt, this.drainPerTick) * this.tickMs : 0
    cells[at + DEBT] = debt
    cells[at + SINCE] = owes ? since : 0
    cells[at + MS_PER_TOKEN] = owes ? this.msPerToken : 0
  }
}
