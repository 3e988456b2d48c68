// The fixed window: a count that starts again at 0 with each window. Cells: expiresAt, used.

import { type Duration, formatDuration } from '../../core/duration.ts'
import { SluiceError } from '../../core/errors.ts'
import {
  type Per,
  type PerOf,
  type PerOption,
  type Rule,
  type RuleOptions,
  type RuleParameters,
  ruleName,
  rulePer,
  takeByMethods,
} from '../../core/rule.ts'
import { type KindsOf, readOptions } from '../../core/rule-options.ts'
import { MAX } from '../../core/whole-numbers.ts'

export interface FixedWindowOptions<P extends PerOption = PerOption> extends RuleOptions<P> {
  /** Units that a window lets through. */
  readonly limit: number
  /** Length of a window. */
  readonly window: Duration
  /** Start of the windows: at a key's first hit (default), or at multiples of the window since the epoch. */
  readonly anchor?: 'first-hit' | 'clock'
  /** Denied hits count too, also one that is above the limit by itself and opens the window. */
  readonly countDenied?: boolean
  /**
   * Every hit, allowed or not, counts and restarts the window. Not with anchor clock.
   * @deprecated A denied client that retries never gets through.
   */
  readonly elastic?: boolean
}

export const FIXED_WINDOW_OPTIONS = {
  limit: { kind: 'units' },
  window: { kind: 'duration' },
  anchor: { kind: 'choice', choices: ['first-hit', 'clock'] },
  countDenied: { kind: 'flag' },
  elastic: { kind: 'flag' },
} as const satisfies KindsOf<FixedWindowOptions>

const EXPIRES_AT = 0
const USED = 1

/** Allows at most `limit` units in each window. Simple, with a small state. Around a boundary, up to twice the limit can pass. */
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
  readonly parameters: RuleParameters

  constructor(options: FixedWindowOptions) {
    const { limit, window: windowMs, anchor, countDenied, elastic } = readOptions('fixedWindow', options, FIXED_WINDOW_OPTIONS)
    if (elastic && anchor === 'clock') {
      throw new SluiceError('ERR_RULE', `fixedWindow cannot be elastic with anchor 'clock'`, {
        option: 'elastic',
        value: elastic,
      })
    }
    this.limit = limit
    this.windowMs = windowMs
    this.anchor = anchor
    this.elastic = elastic
    this.countsDenied = countDenied || elastic
    const extras = `${anchor === 'clock' ? ':clock' : ''}${elastic ? ':elastic' : countDenied ? ':count-denied' : ''}`
    this.per = rulePer(options.per) as P
    this.name = ruleName(options, `fixed-window:${limit}/${formatDuration(windowMs)}${extras}`)
    this.parameters = { limit, windowMs, isOnClock: anchor === 'clock', elastic, countsDenied: this.countsDenied }
    Object.freeze(this)
  }

  settle(cells: Float64Array, at: number, nowMs: number): void {
    const expiresAt = cells[at + EXPIRES_AT]
    if (nowMs >= expiresAt) {
      cells[at + EXPIRES_AT] = 0
      cells[at + USED] = 0
    } else if (expiresAt > nowMs + this.windowMs) {
      // The clock stepped back, or the rule's window became shorter. The units used are kept, for at most one window from now.
      cells[at + EXPIRES_AT] = nowMs + this.windowMs
    }
  }

  take(cells: Float64Array, at: number, nowMs: number, cost: number): number {
    const expiresAt = cells[at + EXPIRES_AT]
    const used = cells[at + USED]
    const isLive = nowMs < expiresAt && expiresAt <= nowMs + this.windowMs
    if (!isLive || used > this.limit - cost || this.elastic) return takeByMethods(this, cells, at, nowMs, cost)
    // The most frequent hit: within a live window, with units left.
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
    // A window that ends later than `endsAt` is a new one. An elastic window may only have been extended: until `endsAt` it is
    // certainly the same window.
    if (endsAt !== undefined && (this.elastic ? nowMs >= endsAt : cells[at + EXPIRES_AT] > endsAt)) return
    cells[at + USED] = Math.max(0, cells[at + USED] - cost)
  }

  /** Returns the end of a window that opens now. */
  #endOfWindow(nowMs: number): number {
    return this.anchor === 'clock' ? nowMs - (nowMs % this.windowMs) + this.windowMs : nowMs + this.windowMs
  }
}
