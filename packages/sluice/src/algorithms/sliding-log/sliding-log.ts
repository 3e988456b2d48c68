// The exact moving window: a log of when what was spent. Cells: expiresAt, total, head, count, room,
// then a ring of `room` entries (time, cost), oldest at `head`.
// What must stay true: times never decrease from the oldest entry to the newest, and none is after the last settled `nowMs`.

import { type Duration, durationMs, formatDuration } from '../../core/duration.ts'
import { checkOptions } from '../../core/options.ts'
import { checkRuleNumber, type Rule, type RuleLog, type RuleOptions, ruleName, takeByParts } from '../../core/rule.ts'
import { MAX } from '../../core/whole-numbers.ts'

export interface SlidingLogOptions extends RuleOptions {
  /** How many units any window lets through. */
  readonly limit: number
  readonly window: Duration
}

const OPTIONS = ['limit', 'window', 'name'] as const

const EXPIRES_AT = 0
const TOTAL = 1
const HEAD = 2
const COUNT = 3
const ROOM = 4
const HEADER = 5
const ENTRY = 2

/** Never more than `limit` units in any window, wherever it starts. Keeps an entry for each millisecond that was hit. */
export function slidingLog(options: SlidingLogOptions): Rule {
  return new SlidingLog(options)
}

class SlidingLog implements Rule {
  readonly algorithm = 'sliding-log'
  readonly name: string
  readonly limit: number
  readonly windowMs: number
  readonly countsDenied = false
  readonly width = HEADER
  readonly mostUsed = MAX
  readonly log: RuleLog = { widthToSpend, move }
  readonly numbers: readonly number[]

  constructor(options: SlidingLogOptions) {
    checkOptions('slidingLog', options, OPTIONS)
    checkRuleNumber('slidingLog', 'limit', options.limit)
    this.limit = options.limit
    this.windowMs = durationMs('window', options.window)
    this.name = ruleName(options.name, `sliding-log:${this.limit}/${formatDuration(this.windowMs)}`)
    this.numbers = [this.limit, this.windowMs]
    Object.freeze(this)
  }

  settle(cells: Float64Array, at: number, nowMs: number): void {
    while (cells[at + COUNT] > 0 && cells[entry(cells, at, 0)] <= nowMs - this.windowMs) dropOldest(cells, at)
    // The clock stepped back: what was spent after `nowMs` was spent now.
    let later = 0
    while (cells[at + COUNT] > 0 && cells[newest(cells, at)] > nowMs) later += dropNewest(cells, at)
    if (later > 0) append(cells, at, nowMs, later)
    this.#touch(cells, at)
  }

  take(cells: Float64Array, at: number, nowMs: number, cost: number): number {
    return takeByParts(this, cells, at, nowMs, cost)
  }

  waitMs(cells: Float64Array, at: number, nowMs: number, cost: number): number {
    if (cost > this.limit) return Number.POSITIVE_INFINITY
    // So many of the oldest units must leave the window.
    let excess = cells[at + TOTAL] - (this.limit - cost)
    if (excess <= 0) return 0
    let i = 0
    for (; excess > cells[entry(cells, at, i) + 1]; i++) excess -= cells[entry(cells, at, i) + 1]
    return cells[entry(cells, at, i)] + this.windowMs - nowMs
  }

  spend(cells: Float64Array, at: number, nowMs: number, cost: number): void {
    let spent = Math.min(cost, MAX - cells[at + TOTAL])
    if (spent === 0) return
    const isNew = cells[at + COUNT] === 0 || cells[newest(cells, at)] !== nowMs
    // Past the limit (by inc) the log stays at `limit` entries: the oldest joins the next. No hit can tell, since the
    // entries after it reach the limit by themselves; only the count stays higher until that next one leaves, or is refunded.
    while (isNew && cells[at + COUNT] >= this.limit) {
      const oldest = dropOldest(cells, at)
      if (cells[at + COUNT] === 0) {
        spent += oldest
      } else {
        cells[entry(cells, at, 0) + 1] += oldest
        cells[at + TOTAL] += oldest
      }
    }
    append(cells, at, nowMs, spent)
    this.#touch(cells, at)
  }

  used(cells: Float64Array, at: number): number {
    return cells[at + TOTAL]
  }

  put(cells: Float64Array, at: number, nowMs: number, used: number): void {
    cells[at + TOTAL] = 0
    cells[at + HEAD] = 0
    cells[at + COUNT] = 0
    if (used > 0) append(cells, at, nowMs, used)
    this.#touch(cells, at)
  }

  /** The newest units come back first: they are the ones just spent in vain. */
  refund(cells: Float64Array, at: number, _nowMs: number, cost: number): void {
    let owed = cost
    while (owed > 0 && cells[at + COUNT] > 0) {
      const last = newest(cells, at)
      if (cells[last + 1] > owed) {
        cells[last + 1] -= owed
        cells[at + TOTAL] -= owed
        owed = 0
      } else {
        owed -= dropNewest(cells, at)
      }
    }
    this.#touch(cells, at)
  }

  #touch(cells: Float64Array, at: number): void {
    cells[at + EXPIRES_AT] = cells[at + COUNT] === 0 ? 0 : cells[newest(cells, at)] + this.windowMs
  }
}

function widthToSpend(cells: Float64Array, at: number): number {
  return HEADER + (cells[at + COUNT] + 1) * ENTRY
}

function move(from: Float64Array, fromAt: number, to: Float64Array, toAt: number, toWidth: number): void {
  to.set(from.subarray(fromAt, fromAt + HEADER), toAt)
  to[toAt + HEAD] = 0
  to[toAt + ROOM] = Math.floor((toWidth - HEADER) / ENTRY)
  for (let i = 0; i < from[fromAt + COUNT]; i++) {
    const entryAt = entry(from, fromAt, i)
    to.set(from.subarray(entryAt, entryAt + ENTRY), toAt + HEADER + i * ENTRY)
  }
}

/** Where entry `i`, counted from the oldest, stands. */
function entry(cells: Float64Array, at: number, i: number): number {
  return at + HEADER + ((cells[at + HEAD] + i) % cells[at + ROOM]) * ENTRY
}

function newest(cells: Float64Array, at: number): number {
  return entry(cells, at, cells[at + COUNT] - 1)
}

/** Drops the oldest entry; → its cost. */
function dropOldest(cells: Float64Array, at: number): number {
  const cost = cells[entry(cells, at, 0) + 1]
  cells[at + HEAD] = (cells[at + HEAD] + 1) % cells[at + ROOM]
  cells[at + COUNT] -= 1
  cells[at + TOTAL] -= cost
  return cost
}

/** Drops the newest entry; → its cost. */
function dropNewest(cells: Float64Array, at: number): number {
  const cost = cells[newest(cells, at) + 1]
  cells[at + COUNT] -= 1
  cells[at + TOTAL] -= cost
  return cost
}

/** Adds to the entry of this very millisecond, or a new one. */
function append(cells: Float64Array, at: number, nowMs: number, cost: number): void {
  if (cells[at + COUNT] === 0 || cells[newest(cells, at)] !== nowMs) {
    cells[at + COUNT] += 1
    cells[newest(cells, at)] = nowMs
    cells[newest(cells, at) + 1] = 0
  }
  cells[newest(cells, at) + 1] += cost
  cells[at + TOTAL] += cost
}
