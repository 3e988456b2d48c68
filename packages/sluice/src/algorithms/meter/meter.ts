// A meter: it owes `debt` units, drains `drainPerTick` of them every tick and holds at most `limit` tokens' worth.
// Token bucket, GCRA and leaky bucket are this one sum in different words; no fraction of a token is ever lost,
// because a token is `unitsPerToken` whole units. Cells: expiresAt, debt, pace, drainPerTick, where pace is unitsPerToken
// of a smooth meter, whose tick is 1 ms, and tickMs of a stepped one, whose unit is a token. So a state tells how it was
// written; when its ticks began is expiresAt less the ticks that it takes to drain.

import { SluiceError } from '../../core/errors.ts'
import { type Per, type Rule, type RuleParameters, takeByParts } from '../../core/rule.ts'
import { ceilDiv, floorDiv, greatestCommonDivisor, MAX, MAX_DURATION_MS } from '../../core/whole-numbers.ts'

export interface MeterNumbers<P extends Per> {
  readonly name: string
  readonly per: P
  /** What the rule is called in error messages. */
  readonly of: string
  readonly capacity: number
  /** The option that says it. */
  readonly capacityName: string
  /** Tokens that come back every `everyMs`. */
  readonly refill: number
  readonly everyMs: number
  /** `'smooth'`: a little every millisecond. `'stepped'`: all of `refill` at each whole `everyMs`. */
  readonly style: 'smooth' | 'stepped'
}

const EXPIRES_AT = 0
const DEBT = 1
const PACE = 2
const DRAIN_PER_TICK = 3

export class Meter<P extends Per = Per> implements Rule<P> {
  /** The two styles count in different units, so their states must not meet. */
  readonly algorithm: 'meter' | 'stepped-meter'
  readonly name: string
  readonly per: P
  readonly limit: number
  readonly windowMs: number
  readonly countsDenied = false
  readonly width = 4
  readonly mostUsed: number
  readonly unitsPerToken: number
  readonly drainPerTick: number
  readonly tickMs: number
  /** What a state written by this rule has as its pace. */
  readonly pace: number
  readonly parameters: RuleParameters

  constructor({ name, per, of, capacity, capacityName, refill, everyMs, style }: MeterNumbers<P>) {
    const shared = greatestCommonDivisor(refill, everyMs)
    const smooth = style === 'smooth'
    this.algorithm = smooth ? 'meter' : 'stepped-meter'
    this.name = name
    this.per = per
    this.limit = capacity
    this.unitsPerToken = smooth ? everyMs / shared : 1
    this.drainPerTick = smooth ? refill / shared : refill
    this.tickMs = smooth ? 1 : everyMs
    this.pace = smooth ? this.unitsPerToken : everyMs
    this.mostUsed = floorDiv(Math.min(MAX, floorDiv(MAX_DURATION_MS, this.tickMs) * this.drainPerTick), this.unitsPerToken)
    if (capacity > this.mostUsed) {
      throw new SluiceError(
        'ERR_RULE',
        `${of} with ${capacity} at ${refill} per ${everyMs} ms passes 2^53 when counted exactly, or takes over 2^47 ms to fill: use a smaller capacity, or a rate with smaller numbers`,
        { option: capacityName, value: capacity },
      )
    }
    this.windowMs = ceilDiv(capacity * this.unitsPerToken, this.drainPerTick) * this.tickMs
    const { unitsPerToken, drainPerTick, tickMs, mostUsed } = this
    this.parameters = { limit: capacity, unitsPerToken, drainPerTick, tickMs, mostUsed }
    Object.freeze(this)
  }

  settle(cells: Float64Array, at: number, nowMs: number): void {
    const expiresAt = cells[at + EXPIRES_AT]
    if (expiresAt === 0) return
    if (nowMs >= expiresAt) return this.#owe(cells, at, nowMs, 0)
    const pace = cells[at + PACE]
    const drainPerTick = cells[at + DRAIN_PER_TICK]
    const tickMs = this.algorithm === 'meter' ? 1 : pace
    const debt = cells[at + DEBT]
    const since = expiresAt - ceilDiv(debt, drainPerTick) * tickMs
    // Where the clock has stepped back nothing drains, nothing is taken, and draining goes on from now.
    const ticks = Math.max(0, floorDiv(nowMs - since, tickMs))
    const owed = debt - ticks * drainPerTick
    const isOwn = pace === this.pace && drainPerTick === this.drainPerTick
    if (isOwn) this.#owe(cells, at, Math.min(since + ticks * tickMs, nowMs), owed)
    else this.#owe(cells, at, nowMs, this.#inOwnUnits(owed, pace))
  }

  take(cells: Float64Array, at: number, nowMs: number, cost: number): number {
    return takeByParts(this, cells, at, nowMs, cost)
  }

  waitMs(cells: Float64Array, at: number, nowMs: number, cost: number): number {
    const { limit, unitsPerToken } = this
    if (cost > limit) return Number.POSITIVE_INFINITY
    const excess = cells[at + DEBT] - (limit - cost) * unitsPerToken
    if (excess <= 0) return 0
    return this.#since(cells, at, nowMs) + ceilDiv(excess, this.drainPerTick) * this.tickMs - nowMs
  }

  spend(cells: Float64Array, at: number, nowMs: number, cost: number): void {
    const debt = cells[at + DEBT] + cost * this.unitsPerToken
    this.#owe(cells, at, this.#since(cells, at, nowMs), Math.min(debt, this.mostUsed * this.unitsPerToken))
  }

  used(cells: Float64Array, at: number): number {
    return ceilDiv(cells[at + DEBT], this.unitsPerToken)
  }

  put(cells: Float64Array, at: number, nowMs: number, used: number): void {
    this.#owe(cells, at, nowMs, used * this.unitsPerToken)
  }

  refund(cells: Float64Array, at: number, nowMs: number, cost: number): void {
    this.#owe(cells, at, this.#since(cells, at, nowMs), Math.max(0, cells[at + DEBT] - cost * this.unitsPerToken))
  }

  /** When the tick began that a settled state is in. */
  #since(cells: Float64Array, at: number, nowMs: number): number {
    if (this.tickMs === 1 || cells[at + EXPIRES_AT] === 0) return nowMs
    return cells[at + EXPIRES_AT] - ceilDiv(cells[at + DEBT], this.drainPerTick) * this.tickMs
  }

  /** What is owed to a state of another pace, in this rule's units; a fraction of one rounds up. A stepped meter counts in tokens anyway. */
  #inOwnUnits(owed: number, pace: number): number {
    if (this.algorithm === 'stepped-meter') return Math.min(owed, this.mostUsed)
    const tokens = floorDiv(owed, pace)
    const rest = owed - tokens * pace
    const most = this.mostUsed * this.unitsPerToken
    return Math.min(tokens * this.unitsPerToken + Math.ceil((rest * this.unitsPerToken) / pace), most)
  }

  /** Owes `debt` units from `since` on; owing nothing is the state of a key never hit. */
  #owe(cells: Float64Array, at: number, since: number, debt: number): void {
    const owes = debt > 0
    cells[at + EXPIRES_AT] = owes ? since + ceilDiv(debt, this.drainPerTick) * this.tickMs : 0
    cells[at + DEBT] = debt
    cells[at + PACE] = owes ? this.pace : 0
    cells[at + DRAIN_PER_TICK] = owes ? this.drainPerTick : 0
  }
}
