// The sliding window. It estimates a moving window from two counters: the count of the current window, plus the count of the
// previous window times the share of it that the moving window still covers ("in view").
// Cells: expiresAt, start, current, previous.

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
  takeByParts,
} from '../../core/rule.ts'
import { type KindsOf, readOptions } from '../../core/rule-options.ts'
import { ceilDiv, floorDiv, isWhole, MAX } from '../../core/whole-numbers.ts'

export interface SlidingWindowOptions<P extends PerOption = PerOption> extends RuleOptions<P> {
  /** Units that a window should let through. */
  readonly limit: number
  /** Length of a window. */
  readonly window: Duration
  /**
   * Start of the windows: from a key's first hit on (default), until the key has been silent for two windows; or at
   * multiples of the window since the epoch.
   */
  readonly anchor?: 'first-hit' | 'clock'
  /** The last window's share: in whole units, rounded down (default), or with its fraction. */
  readonly round?: 'down' | 'none'
}

export const SLIDING_WINDOW_OPTIONS = {
  limit: { kind: 'units' },
  window: { kind: 'duration' },
  anchor: { kind: 'choice', choices: ['first-hit', 'clock'] },
  round: { kind: 'choice', choices: ['down', 'none'] },
} as const satisfies KindsOf<SlidingWindowOptions>

const EXPIRES_AT = 0
const START = 1
const CURRENT = 2
const PREVIOUS = 3

/** Allows about `limit` units in any window. A key's state is four numbers. */
export function slidingWindow<const P extends PerOption = undefined>(options: SlidingWindowOptions<P>): Rule<PerOf<P>> {
  return new SlidingWindow<PerOf<P>>(options)
}

class SlidingWindow<P extends Per> implements Rule<P> {
  readonly per: P
  readonly algorithm = 'sliding-window'
  readonly name: string
  readonly limit: number
  readonly windowMs: number
  readonly countsDenied = false
  readonly width = 4
  readonly mostUsed: number
  readonly anchor: 'first-hit' | 'clock'
  readonly round: 'down' | 'none'
  readonly parameters: RuleParameters

  constructor(options: SlidingWindowOptions) {
    const { limit, window: windowMs, anchor, round } = readOptions('slidingWindow', options, SLIDING_WINDOW_OPTIONS)
    this.limit = limit
    this.windowMs = windowMs
    // The sum of two counts, and the product of a count and the window, must stay below 2^53.
    this.mostUsed = floorDiv(MAX, Math.max(2, windowMs))
    if (limit >= this.mostUsed) {
      throw new SluiceError(
        'ERR_RULE',
        `slidingWindow multiplies limit and window, and ${limit} × ${windowMs} ms passes 2^53: use a smaller one, or fixedWindow`,
        { option: 'limit', value: limit },
      )
    }
    this.anchor = anchor
    this.round = round
    const extras = `${anchor === 'clock' ? ':clock' : ''}${round === 'none' ? ':no-rounding' : ''}`
    this.per = rulePer(options.per) as P
    this.name = ruleName(options, `sliding-window:${limit}/${formatDuration(windowMs)}${extras}`)
    const { mostUsed } = this
    this.parameters = { limit, windowMs, isOnClock: anchor === 'clock', roundsDown: round === 'down', mostUsed }
    Object.freeze(this)
  }

  settle(cells: Float64Array, at: number, nowMs: number): void {
    const expiresAt = cells[at + EXPIRES_AT]
    if (expiresAt === 0) return
    const start = cells[at + START]
    const current = cells[at + CURRENT]
    const previous = cells[at + PREVIOUS]
    const writtenWindowMs = current > 0 ? (expiresAt - start) / 2 : expiresAt - start
    if (writtenWindowMs !== this.windowMs) {
      // The state was written with another window. The units that count in it now, rounded up, are carried over.
      const elapsed = Math.max(0, nowMs - start)
      let used = 0
      if (elapsed < writtenWindowMs) used = current + ceilDiv(previous * (writtenWindowMs - elapsed), writtenWindowMs)
      else if (nowMs < expiresAt) used = ceilDiv(current * (2 * writtenWindowMs - elapsed), writtenWindowMs)
      return this.put(cells, at, nowMs, Math.min(used, this.mostUsed))
    }
    const passed = floorDiv(nowMs - start, this.windowMs)
    if (passed < 0 && this.anchor === 'clock') {
      // The clock stepped back over at least one boundary. Both counts are moved to the window that contains `nowMs`.
      return this.put(cells, at, nowMs, Math.min(current + previous, this.mostUsed))
    }
    if (passed < 0) {
      // The clock stepped back. The counts stay, as if their window had just begun.
      cells[at + START] = nowMs
    } else if (passed === 1) {
      cells[at + START] = start + this.windowMs
      cells[at + PREVIOUS] = current
      cells[at + CURRENT] = 0
    } else if (passed > 1) {
      cells[at + PREVIOUS] = 0
      cells[at + CURRENT] = 0
    }
    this.#touch(cells, at)
  }

  take(cells: Float64Array, at: number, nowMs: number, cost: number): number {
    return takeByParts(this, cells, at, nowMs, cost)
  }

  waitMs(cells: Float64Array, at: number, nowMs: number, cost: number): number {
    const { limit, windowMs } = this
    if (cost > limit) return Number.POSITIVE_INFINITY
    const current = cells[at + CURRENT]
    const previous = cells[at + PREVIOUS]
    const elapsed = cells[at + EXPIRES_AT] === 0 ? 0 : nowMs - cells[at + START]
    const left = limit - cost - current
    if (left >= 0) return Math.max(0, windowMs - this.#longestView(previous, left) - elapsed)
    // The cost fits only in the next window, in which the current count is the previous one.
    return windowMs - elapsed + windowMs - this.#longestView(current, limit - cost)
  }

  spend(cells: Float64Array, at: number, nowMs: number, cost: number): void {
    if (cells[at + EXPIRES_AT] === 0) cells[at + START] = this.#startOfWindow(nowMs)
    cells[at + CURRENT] = Math.min(cells[at + CURRENT] + cost, this.mostUsed)
    this.#touch(cells, at)
  }

  used(cells: Float64Array, at: number, nowMs: number): number {
    const previous = cells[at + PREVIOUS]
    if (previous === 0) return cells[at + CURRENT]
    const inView = previous * (this.windowMs - (nowMs - cells[at + START]))
    // Without rounding down, a fraction of a unit counts as a whole unit here, so that `remaining` is not too high.
    return cells[at + CURRENT] + (this.round === 'down' ? floorDiv(inView, this.windowMs) : ceilDiv(inView, this.windowMs))
  }

  put(cells: Float64Array, at: number, nowMs: number, used: number): void {
    cells[at + START] = this.#startOfWindow(nowMs)
    cells[at + CURRENT] = used
    cells[at + PREVIOUS] = 0
    this.#touch(cells, at)
  }

  refund(cells: Float64Array, at: number, _nowMs: number, cost: number, endsAt?: number): void {
    // Start of the window in which the units were spent.
    const start = endsAt === undefined ? undefined : endsAt - 2 * this.windowMs
    const isCurrent = start === undefined || cells[at + START] <= start
    const isPrevious = start === undefined || (!isCurrent && cells[at + START] <= start + this.windowMs)
    const fromCurrent = isCurrent ? Math.min(cost, cells[at + CURRENT]) : 0
    const fromPrevious = isPrevious ? Math.min(cost - fromCurrent, cells[at + PREVIOUS]) : 0
    cells[at + CURRENT] -= fromCurrent
    cells[at + PREVIOUS] -= fromPrevious
    this.#touch(cells, at)
  }

  isSound(cells: Float64Array): boolean {
    const lengthMs = cells[EXPIRES_AT] - cells[START]
    const writtenWindowMs = cells[CURRENT] > 0 ? lengthMs / 2 : lengthMs
    if (!isWhole(writtenWindowMs, 1)) return false
    return cells[CURRENT] * writtenWindowMs <= MAX && cells[PREVIOUS] * writtenWindowMs <= MAX
  }

  /** Returns the start of a window that opens now, or, on the clock, of the window that contains `nowMs`. */
  #startOfWindow(nowMs: number): number {
    return this.anchor === 'clock' ? nowMs - (nowMs % this.windowMs) : nowMs
  }

  /**
   * Returns the longest part of the previous window, in ms, that may be in view while its `count` weighs at most `left` units.
   */
  #longestView(count: number, left: number): number {
    const { windowMs } = this
    if (count <= left) return windowMs
    return this.round === 'down' ? ceilDiv((left + 1) * windowMs, count) - 1 : floorDiv(left * windowMs, count)
  }

  /** Updates the end of the state. A state without units becomes the state of a key that was never hit. */
  #touch(cells: Float64Array, at: number): void {
    if (cells[at + CURRENT] > 0) cells[at + EXPIRES_AT] = cells[at + START] + 2 * this.windowMs
    else if (cells[at + PREVIOUS] > 0) cells[at + EXPIRES_AT] = cells[at + START] + this.windowMs
    else {
      cells[at + EXPIRES_AT] = 0
      cells[at + START] = 0
    }
  }
}
