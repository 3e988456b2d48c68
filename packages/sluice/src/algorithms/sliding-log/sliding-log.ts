// The sliding log: an exact moving window. It keeps an entry for each millisecond in which units were spent. The cells of its
// state are described in log-cells.ts. Only a refund with `endsAt` takes time that is linear in the length of the log.
// Invariant: times never decrease from the oldest entry to the newest, and none is after the last settled `nowMs`.

import { type Duration, formatDuration } from '../../core/duration.ts'
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
import type { RuleLog } from '../../core/rule-log.ts'
import { type KindsOf, readOptions } from '../../core/rule-options.ts'
import { MAX } from '../../core/whole-numbers.ts'
import {
  append,
  BASE,
  COUNT,
  copy,
  countUpTo,
  difference,
  dropOldest,
  ENTRY,
  EXPIRES_AT,
  end,
  entry,
  entryReaching,
  first,
  firstChanged,
  frame,
  HEAD,
  HEADER,
  lastSum,
  move,
  newest,
  plus,
  SLOTS,
  SUM,
  sumBefore,
  TIME,
  widthToSpend,
} from './log-cells.ts'
import { LogRows } from './log-rows.ts'

export interface SlidingLogOptions<P extends PerOption = PerOption> extends RuleOptions<P> {
  /** Units that any window lets through. */
  readonly limit: number
  /** Time that the log looks back. */
  readonly window: Duration
}

export const SLIDING_LOG_OPTIONS = {
  limit: { kind: 'units' },
  window: { kind: 'duration' },
} as const satisfies KindsOf<SlidingLogOptions>

/** Allows at most `limit` units in any window, wherever it starts. Keeps an entry for each millisecond that was hit. */
export function slidingLog<const P extends PerOption = undefined>(options: SlidingLogOptions<P>): Rule<PerOf<P>> {
  return new SlidingLog<PerOf<P>>(options)
}

class SlidingLog<P extends Per> implements Rule<P> {
  readonly per: P
  readonly algorithm = 'sliding-log'
  readonly name: string
  readonly limit: number
  readonly windowMs: number
  readonly countsDenied = false
  readonly width = HEADER
  readonly mostUsed = MAX
  readonly log: RuleLog
  readonly parameters: RuleParameters

  constructor(options: SlidingLogOptions) {
    const { limit, window: windowMs } = readOptions('slidingLog', options, SLIDING_LOG_OPTIONS)
    this.limit = limit
    this.windowMs = windowMs
    this.per = rulePer(options.per) as P
    this.name = ruleName(options, `sliding-log:${limit}/${formatDuration(windowMs)}`)
    this.parameters = { limit, windowMs }
    const endsAt = (cells: Float64Array, at: number, nowMs: number): number => this.#endsAt(cells, at, nowMs)
    this.log = { widthToSpend, move, frame, first, end, copy, firstChanged, endsAt, open: (host) => new LogRows(host) }
    Object.freeze(this)
  }

  settle(cells: Float64Array, at: number, nowMs: number): void {
    const expired = countUpTo(cells, at, nowMs - this.windowMs)
    if (expired > 0) {
      cells[at + BASE] = sumBefore(cells, at, expired)
      dropOldest(cells, at, expired)
    }
    const kept = countUpTo(cells, at, nowMs)
    if (kept < cells[at + COUNT]) {
      // The clock stepped back. Units spent after `nowMs` count as spent now.
      const sum = lastSum(cells, at)
      cells[at + COUNT] = kept
      append(cells, at, nowMs, sum)
    }
    this.#touch(cells, at)
  }

  take(cells: Float64Array, at: number, nowMs: number, cost: number): number {
    return takeByMethods(this, cells, at, nowMs, cost)
  }

  waitMs(cells: Float64Array, at: number, nowMs: number, cost: number): number {
    if (cost > this.limit) return Number.POSITIVE_INFINITY
    const live = countUpTo(cells, at, nowMs - this.windowMs)
    const before = sumBefore(cells, at, live)
    // Number of the oldest units that must leave the window.
    const excess = difference(lastSum(cells, at), before) - (this.limit - cost)
    if (excess <= 0) return 0
    const last = entryReaching(cells, at, live, before, excess)
    // In a log that was not settled, an entry after `nowMs` counts as spent now.
    return Math.min(cells[entry(cells, at, last) + TIME], nowMs) + this.windowMs - nowMs
  }

  spend(cells: Float64Array, at: number, nowMs: number, cost: number): void {
    const sum = lastSum(cells, at)
    const spent = Math.min(cost, MAX - difference(sum, cells[at + BASE]))
    if (spent === 0) return
    // `inc` can go past the limit. Then the log keeps only `limit` entries. The oldest entries are dropped, but `base` stays the
    // same, so their units move to the next entry. Decisions do not change, because the entries that are left reach the limit by
    // themselves. Only the units used stay higher, until that next entry leaves the window or is refunded.
    const joined = cells[at + COUNT] + 1 - this.limit
    if (joined > 0 && cells[newest(cells, at) + TIME] !== nowMs) dropOldest(cells, at, joined)
    append(cells, at, nowMs, plus(sum, spent))
    this.#touch(cells, at)
  }

  used(cells: Float64Array, at: number, nowMs: number): number {
    const live = countUpTo(cells, at, nowMs - this.windowMs)
    return difference(lastSum(cells, at), sumBefore(cells, at, live))
  }

  put(cells: Float64Array, at: number, nowMs: number, used: number): void {
    cells[at + BASE] = 0
    cells[at + HEAD] = 0
    cells[at + COUNT] = 0
    if (used > 0) append(cells, at, nowMs, used)
    this.#touch(cells, at)
  }

  /** Gives the newest units back first, because a refund is mostly for units that were just spent. */
  refund(cells: Float64Array, at: number, nowMs: number, cost: number, endsAt?: number): void {
    // If the entry was after `nowMs`, `settle` has moved its units to the entry of `nowMs`.
    if (endsAt !== undefined) return this.#refundAt(cells, at, Math.min(endsAt - this.windowMs, nowMs), cost)
    const base = cells[at + BASE]
    const kept = difference(lastSum(cells, at), base) - cost
    if (kept <= 0) {
      cells[at + COUNT] = 0
    } else {
      const last = entryReaching(cells, at, 0, base, kept)
      cells[at + COUNT] = last + 1
      cells[entry(cells, at, last) + SUM] = plus(base, kept)
    }
    this.#touch(cells, at)
  }

  /** Gives units of the entry of `timeMs` back. Takes time that is linear in the number of entries after it. */
  #refundAt(cells: Float64Array, at: number, timeMs: number, cost: number): void {
    const i = countUpTo(cells, at, timeMs) - 1
    if (i < 0 || cells[entry(cells, at, i) + TIME] !== timeMs) return
    const spent = difference(cells[entry(cells, at, i) + SUM], sumBefore(cells, at, i))
    const back = Math.min(cost, spent)
    const count = cells[at + COUNT]
    // An entry without units is dropped, and the entries after it move up.
    const dropped = back === spent ? 1 : 0
    for (let j = i + dropped; j < count; j++) {
      const from = entry(cells, at, j)
      const to = entry(cells, at, j - dropped)
      cells[to + TIME] = cells[from + TIME]
      cells[to + SUM] = difference(cells[from + SUM], back)
    }
    cells[at + COUNT] = count - dropped
    this.#touch(cells, at)
  }

  isSound(cells: Float64Array): boolean {
    const count = cells[COUNT]
    const slots = cells[SLOTS]
    if (count === 0 || count > slots || slots * ENTRY > cells.length - HEADER || end(cells, 0) > MAX) return false
    let lastMs = 0
    let units = 0
    for (let i = 0; i < count; i++) {
      const spent = difference(cells[entry(cells, 0, i) + SUM], sumBefore(cells, 0, i))
      const timeMs = cells[entry(cells, 0, i) + TIME]
      if (spent === 0 || spent > MAX - units || timeMs < lastMs) return false
      units += spent
      lastMs = timeMs
    }
    return cells[EXPIRES_AT] > lastMs
  }

  #touch(cells: Float64Array, at: number): void {
    cells[at + EXPIRES_AT] = cells[at + COUNT] === 0 ? 0 : cells[newest(cells, at) + TIME] + this.windowMs
  }

  #endsAt(cells: Float64Array, at: number, nowMs: number): number {
    const count = cells[at + COUNT]
    if (countUpTo(cells, at, nowMs - this.windowMs) === count) return 0
    return Math.min(cells[newest(cells, at) + TIME], nowMs) + this.windowMs
  }
}
