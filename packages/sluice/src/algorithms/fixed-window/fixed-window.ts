// A count that starts anew with each window. Cells: expiresAt, used.

import { type Duration, durationMs, formatDuration } from '../../core/duration.ts'
import { SluiceError } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import {
  checkRuleChoice,
  checkRuleFlag,
  checkRuleNumber,
  type Per,
  type PerOf,
  type PerOption,
  type Rule,
  type RuleOptions,
  ruleName,
  rulePer,
  takeByParts,
} from '../../core/rule.ts'
import { MAX } from '../../core/whole-numbers.ts'

export interface FixedWindowOptions<P extends PerOption = PerOption> extends RuleOptions<P> {
  /** How many units a window lets through. */
  readonly limit: number
  readonly window: Duration
  /** Where windows start: `'first-hit'` (default), at the first hit of each key; `'clock'`, at multiples of `window` since the epoch. */
  readonly anchor?: 'first-hit' | 'clock'
  /** Count denied hits too, as counters made of INCR do. Default: false. */
  readonly countDenied?: boolean
  /**
   * Every hit, allowed or not, counts and restarts the window, so that a client that never pauses stays locked out.
   * @deprecated Kept for those who come from limiters that have it; a denied client that retries never gets through.
   */
  readonly elastic?: boolean
}

const OPTIONS = ['limit', 'window', 'anchor', 'countDenied', 'elastic', 'name', 'per'] as const

const EXPIRES_AT = 0
const USED = 1

/** At most `limit` units in each window. Simple and lean; up to twice the limit can pass around a boundary. */
export function fixedWindow<const P extends PerOption = undefined>(options: FixedWindowOptions<P>): Rule<PerOf<P>> {
  return new FixedWindow<PerOf<P>>(options)
}

class FixedWindow<P extends Per> implements Rule<P> {
  readonly per: P
  readonly algorithm = 'fixed-window'
  readonly name: string
  readonly limit: number
  readonly windowMs: number
  readonly countsDenied: boolean
  readonly width = 2
  readonly mostUsed = MAX
  readonly anchor: 'first-hit' | 'clock'
  readonly elastic: boolean
  readonly numbers: readonly number[]

  constructor(options: FixedWindowOptions) {
    checkOptions('fixedWindow', options, OPTIONS)
    const { limit, window, anchor = 'first-hit', countDenied = false, elastic = false } = options
    checkRuleNumber('fixedWindow', 'limit', limit)
    checkRuleChoice('fixedWindow', 'anchor', anchor, ['first-hit', 'clock'])
    checkRuleFlag('fixedWindow', 'countDenied', countDenied)
    checkRuleFlag('fixedWindow', 'elastic', elastic)
    if (elastic && anchor === 'clock') {
      throw new SluiceError(
        'ERR_RULE',
        `fixedWindow cannot be elastic with anchor 'clock': a boundary of the clock does not move`,
        { option: 'elastic', value: elastic },
      )
    }
    this.limit = limit
    this.windowMs = durationMs(window, 'window')
    this.anchor = anchor
    this.elastic = elastic
    this.countsDenied = countDenied || elastic
    const extras = `${anchor === 'clock' ? ':clock' : ''}${elastic ? ':elastic' : countDenied ? ':count-denied' : ''}`
    this.per = rulePer(options.per) as P
    this.name = ruleName(options, `fixed-window:${limit}/${formatDuration(this.windowMs)}${extras}`)
    this.numbers = [limit, this.windowMs, Number(anchor === 'clock'), Number(elastic), Number(this.countsDenied)]
    Object.freeze(this)
  }

  settle(cells: Float64Array, at: number, nowMs: number): void {
    const expiresAt = cells[at + EXPIRES_AT]
    if (nowMs >= expiresAt) {
      cells[at + EXPIRES_AT] = 0
      cells[at + USED] = 0
    } else if (expiresAt > nowMs + this.windowMs) {
      // The clock stepped back, or the window became shorter: what was used stays, for one window from now at most.
      cells[at + EXPIRES_AT] = nowMs + this.windowMs
    }
  }

  take(cells: Float64Array, at: number, nowMs: number, cost: number): number {
    const expiresAt = cells[at + EXPIRES_AT]
    const used = cells[at + USED]
    const isLive = nowMs < expiresAt && expiresAt <= nowMs + this.windowMs
    if (!isLive || used > this.limit - cost || this.elastic) return takeByParts(this, cells, at, nowMs, cost)
    // Most hits there are: within a live window, and with room.
    cells[at + USED] = used + cost
    return 0
  }

  waitMs(cells: Float64Array, at: number, nowMs: number, cost: number): number {
    if (cost > this.limit) return Number.POSITIVE_INFINITY
    if (cells[at + USED] <= this.limit - cost) return 0
    return cells[at + EXPIRES_AT] - nowMs
  }

  spend(cells: Float64Array, at: number, nowMs: number, cost: number): void {
    if (cells[at + EXPIRES_AT] === 0 || this.elastic) cells[at + EXPIRES_AT] = this.#endOfWindow(nowMs)
    cells[at + USED] = Math.min(cells[at + USED] + cost, MAX)
  }

  used(cells: Float64Array, at: number): number {
    return cells[at + USED]
  }

  put(cells: Float64Array, at: number, nowMs: number, used: number): void {
    if (cells[at + EXPIRES_AT] === 0 || this.anchor === 'first-hit') cells[at + EXPIRES_AT] = this.#endOfWindow(nowMs)
    cells[at + USED] = used
  }

  refund(cells: Float64Array, at: number, nowMs: number, cost: number, endsAt?: number): void {
    // A new window ends later; an elastic one may have been extended, but lasts at least until `endsAt`.
    if (endsAt !== undefined && (this.elastic ? nowMs >= endsAt : cells[at + EXPIRES_AT] > endsAt)) return
    cells[at + USED] = Math.max(0, cells[at + USED] - cost)
  }

  /** The end of a window that opens now. */
  #endOfWindow(nowMs: number): number {
    return this.anchor === 'clock' ? nowMs - (nowMs % this.windowMs) + this.windowMs : nowMs + this.windowMs
  }
}
