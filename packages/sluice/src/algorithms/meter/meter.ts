// A meter: the one definition behind token bucket, GCRA and leaky bucket. A hit adds units to its `debt`. The debt of allowed
// hits is at most `limit` tokens. Every tick drains `drainPerTick` units. A token is `unitsPerToken` whole units, so no fraction
// of a token is lost.
// - Smooth meter: a tick is 1 ms, and the pace is `unitsPerToken`.
// - Stepped meter: a unit is a token, and the pace is `tickMs`.
// Cells: expiresAt, debt, rate. The rate is pace and drainPerTick in one number, so a state contains the rate at which it was
// written. The start of the current tick is not stored: it is expiresAt minus the ticks that the debt takes to drain.
// Wide meter: the rate does not fit into one number. Its cells are expiresAt, debt, pace, drainPerTick.

import { SluiceError } from '../../core/errors.ts'
import { type Per, type Rule, type RuleParameters, takeByMethods } from '../../core/rule.ts'
import { ceilDiv, ceilMulDiv, floorDiv, greatestCommonDivisor, MAX, MAX_DURATION_MS } from '../../core/whole-numbers.ts'
import { drainPerTickOf, paceOf, packRate } from './rate.ts'

export interface MeterOptions<P extends Per> {
  readonly name: string
  readonly per: P
  /** Name of the maker in error messages. */
  readonly maker: string
  readonly capacity: number
  /** Name of the option that sets the capacity. */
  readonly capacityName: string
  /** Tokens that come back every `everyMs`. */
  readonly refill: number
  readonly everyMs: number
  /** `'smooth'`: a little every millisecond. `'stepped'`: all of `refill` at the end of each `everyMs`. */
  readonly style: 'smooth' | 'stepped'
}

const EXPIRES_AT = 0
const DEBT = 1
const RATE = 2
const WIDE_PACE = 2
const WIDE_DRAIN_PER_TICK = 3

export class Meter<P extends Per = Per> implements Rule<P> {
  /** Invariant: meters of different style or width have different names, because their states differ in units or cells. */
  readonly algorithm: 'meter' | 'stepped-meter' | 'wide-meter' | 'wide-stepped-meter'
  readonly name: string
  readonly per: P
  readonly limit: number
  readonly windowMs: number
  readonly countsDenied = false
  readonly width: 3 | 4
  readonly mostUsed: number
  readonly unitsPerToken: number
  readonly drainPerTick: number
  readonly tickMs: number
  readonly pace: number
  /** Pace and drainPerTick in one number, as in the cells of a state; 0 if the rule is wide. */
  readonly rate: number
  /** The largest debt that the short way of `take` allows: `limit` tokens for a smooth meter. −1 if there is no short way. */
  readonly shortWayMost: number
  readonly isSmooth: boolean
  /** True if pace and drainPerTick do not fit into one number. */
  readonly isWide: boolean
  readonly parameters: RuleParameters

  constructor({ name, per, maker, capacity, capacityName, refill, everyMs, style }: MeterOptions<P>) {
    const shared = greatestCommonDivisor(refill, everyMs)
    const smooth = style === 'smooth'
    this.isSmooth = smooth
    this.name = name
    this.per = per
    this.limit = capacity
    this.unitsPerToken = smooth ? everyMs / shared : 1
    this.drainPerTick = smooth ? refill / shared : refill
    this.tickMs = smooth ? 1 : everyMs
    this.pace = smooth ? this.unitsPerToken : everyMs
    this.rate = packRate(this.pace, this.drainPerTick)
    this.isWide = this.rate === 0
    this.width = this.isWide ? 4 : 3
    const ofStyle = smooth ? 'meter' : 'stepped-meter'
    this.algorithm = this.isWide ? `wide-${ofStyle}` : ofStyle
    this.mostUsed = floorDiv(Math.min(MAX, floorDiv(MAX_DURATION_MS, this.tickMs) * this.drainPerTick), this.unitsPerToken)
    if (capacity > this.mostUsed) {
      throw new SluiceError(
        'ERR_RULE',
        `${maker} with ${capacity} at ${refill} per ${everyMs} ms passes 2^53 when counted exactly, or takes over 2^47 ms to fill: use a smaller capacity, or a rate with smaller numbers`,
        { option: capacityName, value: capacity },
      )
    }
    this.windowMs = ceilDiv(capacity * this.unitsPerToken, this.drainPerTick) * this.tickMs
    this.shortWayMost = this.algorithm === 'meter' ? capacity * this.unitsPerToken : -1
    const { unitsPerToken, drainPerTick, tickMs, mostUsed, rate } = this
    this.parameters = { limit: capacity, unitsPerToken, drainPerTick, tickMs, mostUsed, rate }
    Object.freeze(this)
  }

  settle(cells: Float64Array, at: number, nowMs: number): void {
    const expiresAt = cells[at + EXPIRES_AT]
    if (expiresAt === 0) return
    if (nowMs >= expiresAt) return this.#owe(cells, at, nowMs, 0)
    const isOwn = this.#isOwn(cells, at)
    const pace = isOwn ? this.pace : this.#paceAt(cells, at)
    const drainPerTick = isOwn ? this.drainPerTick : this.#drainPerTickAt(cells, at)
    const tickMs = this.isSmooth ? 1 : pace
    const debt = cells[at + DEBT]
    const since = expiresAt - ceilDiv(debt, drainPerTick) * tickMs
    // If the clock has stepped back, the debt stays the same, and draining goes on from now.
    const ticks = Math.max(0, floorDiv(nowMs - since, tickMs))
    const owed = debt - ticks * drainPerTick
    if (isOwn) this.#owe(cells, at, Math.min(since + ticks * tickMs, nowMs), owed)
    else this.#owe(cells, at, nowMs, this.#inOwnUnits(owed, pace))
  }

  take(cells: Float64Array, at: number, nowMs: number, cost: number): number {
    const { drainPerTick, rate } = this
    const expiresAt = cells[at]
    let owed = cost * this.unitsPerToken
    if (nowMs < expiresAt) {
      const debt = cells[at + DEBT]
      const ticks = nowMs - expiresAt + Math.ceil(debt / drainPerTick)
      owed += ticks >= 0 && cells[at + RATE] === rate ? debt - ticks * drainPerTick : MAX
    }
    if (owed > this.shortWayMost) return this.#takeLong(cells, at, nowMs, cost)
    // The most frequent hit: on a state of this rate or one that has ended, with tokens left.
    cells[at] = nowMs + Math.ceil(owed / drainPerTick)
    cells[at + DEBT] = owed
    cells[at + RATE] = rate
    return 0
  }

  /**
   * Decides all other hits. Hits within a tick of a stepped meter have a short way here. It is a method of its own, so that `take`
   * stays small and V8 can inline it.
   */
  #takeLong(cells: Float64Array, at: number, nowMs: number, cost: number): number {
    const { drainPerTick, tickMs } = this
    const debt = cells[at + DEBT]
    const since = cells[at + EXPIRES_AT] - ceilDiv(debt, drainPerTick) * tickMs
    const isInTick = since <= nowMs && nowMs < since + tickMs && cells[at + RATE] === this.rate
    if (this.algorithm !== 'stepped-meter' || !isInTick || debt > this.limit - cost) {
      return takeByMethods(this, cells, at, nowMs, cost)
    }
    cells[at + EXPIRES_AT] = since + ceilDiv(debt + cost, drainPerTick) * tickMs
    cells[at + DEBT] = debt + cost
    return 0
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
    return Math.ceil(cells[at + DEBT] / this.unitsPerToken)
  }

  put(cells: Float64Array, at: number, nowMs: number, used: number): void {
    this.#owe(cells, at, nowMs, used * this.unitsPerToken)
  }

  refund(cells: Float64Array, at: number, nowMs: number, cost: number, endsAt?: number): void {
    const debt = cells[at + DEBT]
    let back = Math.min(cost * this.unitsPerToken, debt)
    // Others have spent since. Without them, some of these units would have drained by now. Such units are not given back.
    if (endsAt !== undefined && cells[at + EXPIRES_AT] > endsAt) back = Math.min(back, this.#leastDebt(endsAt, nowMs))
    this.#owe(cells, at, this.#since(cells, at, nowMs), debt - back)
  }

  isSound(cells: Float64Array): boolean {
    const debt = cells[DEBT]
    const pace = this.#paceAt(cells, 0)
    const drainPerTick = this.#drainPerTickAt(cells, 0)
    if (debt === 0 || pace === 0 || drainPerTick === 0) return false
    return cells[EXPIRES_AT] >= ceilDiv(debt, drainPerTick) * (this.isSmooth ? 1 : pace)
  }

  /** Returns the smallest debt at `nowMs` of a state that ends at `endsAt`. */
  #leastDebt(endsAt: number, nowMs: number): number {
    const ticks = ceilDiv(endsAt - nowMs, this.tickMs)
    return ticks > 0 ? (ticks - 1) * this.drainPerTick + 1 : 0
  }

  /** True if the state was written at this rule's rate. */
  #isOwn(cells: Float64Array, at: number): boolean {
    if (!this.isWide) return cells[at + RATE] === this.rate
    return cells[at + WIDE_PACE] === this.pace && cells[at + WIDE_DRAIN_PER_TICK] === this.drainPerTick
  }

  #paceAt(cells: Float64Array, at: number): number {
    return this.isWide ? cells[at + WIDE_PACE] : paceOf(cells[at + RATE])
  }

  #drainPerTickAt(cells: Float64Array, at: number): number {
    return this.isWide ? cells[at + WIDE_DRAIN_PER_TICK] : drainPerTickOf(cells[at + RATE])
  }

  /** Returns the start of the tick that a settled state is in. */
  #since(cells: Float64Array, at: number, nowMs: number): number {
    if (this.tickMs === 1 || cells[at + EXPIRES_AT] === 0) return nowMs
    return cells[at + EXPIRES_AT] - ceilDiv(cells[at + DEBT], this.drainPerTick) * this.tickMs
  }

  /** Converts a debt at another pace into this rule's units, rounded up. A stepped meter counts in tokens at any pace. */
  #inOwnUnits(owed: number, pace: number): number {
    if (!this.isSmooth) return Math.min(owed, this.mostUsed)
    const tokens = floorDiv(owed, pace)
    const rest = owed - tokens * pace
    const most = this.mostUsed * this.unitsPerToken
    // A sum above 2^53 is not exact, but above `most` in any case.
    return Math.min(tokens * this.unitsPerToken + ceilMulDiv(rest, this.unitsPerToken, pace), most)
  }

  /** Writes a debt that drains from `since` on. Without debt, it writes the state of a key that was never hit. */
  #owe(cells: Float64Array, at: number, since: number, debt: number): void {
    const owes = debt > 0
    cells[at + EXPIRES_AT] = owes ? since + ceilDiv(debt, this.drainPerTick) * this.tickMs : 0
    cells[at + DEBT] = debt
    if (this.isWide) {
      cells[at + WIDE_PACE] = owes ? this.pace : 0
      cells[at + WIDE_DRAIN_PER_TICK] = owes ? this.drainPerTick : 0
    } else {
      cells[at + RATE] = owes ? this.rate : 0
    }
  }
}
