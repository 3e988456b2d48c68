// A count that starts again at 0 with each window of a calendar. Cells: expiresAt, used.
// This file is the definition for boundaries that are given. calendar-window.ts finds the boundaries. The translations get them as
// arguments.

import { SluiceError } from '../../core/errors.ts'
import { type Per, type Rule, type RuleParameters, takeByMethods } from '../../core/rule.ts'
import { MAX } from '../../core/whole-numbers.ts'

/** The boundaries of three windows that follow each other, in ms since the epoch. Invariant: each is later than the one before. */
export interface Boundaries {
  readonly startOfLast: number
  readonly startOfThis: number
  readonly startOfNext: number
  readonly endOfNext: number
}

/** A window contains its start and not its end. */
export interface Window {
  readonly startMs: number
  readonly endMs: number
}

/** The names of a rule and its limit. */
export interface CountOptions<P extends Per> {
  readonly name: string
  readonly per: P
  readonly limit: number
}

const EXPIRES_AT = 0
const USED = 1

/** The definition. A class that extends it knows the windows. */
export abstract class CountByWindow<P extends Per> implements Rule<P> {
  readonly algorithm = 'calendar-window'
  readonly name: string
  readonly per: P
  readonly limit: number
  readonly countsDenied = false
  readonly width = 2
  readonly mostUsed = MAX
  abstract readonly windowMs: number
  abstract readonly parameters: RuleParameters

  constructor({ name, per, limit }: CountOptions<P>) {
    this.name = name
    this.per = per
    this.limit = limit
  }

  /** Returns the window that contains a time. */
  protected abstract windowAt(nowMs: number): Window

  settle(cells: Float64Array, at: number, nowMs: number): void {
    const { startMs, endMs } = this.windowAt(nowMs)
    const expiresAt = cells[at + EXPIRES_AT]
    if (nowMs >= expiresAt) {
      cells[at + EXPIRES_AT] = 0
      cells[at + USED] = 0
    } else if (expiresAt > endMs) {
      // The clock stepped back, or the rule's windows became shorter. The units used are kept, for at most one window from now.
      cells[at + EXPIRES_AT] = Math.min(expiresAt, nowMs + endMs - startMs)
    }
  }

  take(cells: Float64Array, at: number, nowMs: number, cost: number): number {
    const expiresAt = cells[at + EXPIRES_AT]
    const used = cells[at + USED]
    const isLive = nowMs < expiresAt && expiresAt <= this.windowAt(nowMs).endMs
    if (!isLive || used > this.limit - cost) return takeByMethods(this, cells, at, nowMs, cost)
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
    if (cells[at + EXPIRES_AT] === 0) cells[at + EXPIRES_AT] = this.windowAt(nowMs).endMs
    cells[at + USED] = Math.min(cells[at + USED] + cost, MAX)
  }

  used(cells: Float64Array, at: number): number {
    return cells[at + USED]
  }

  put(cells: Float64Array, at: number, nowMs: number, used: number): void {
    if (cells[at + EXPIRES_AT] === 0) cells[at + EXPIRES_AT] = this.windowAt(nowMs).endMs
    cells[at + USED] = used
  }

  refund(cells: Float64Array, at: number, _nowMs: number, cost: number, endsAt?: number): void {
    // A window that ends later than `endsAt` is a new one.
    if (endsAt !== undefined && cells[at + EXPIRES_AT] > endsAt) return
    cells[at + USED] = Math.max(0, cells[at + USED] - cost)
  }
}

/** The rule between four boundaries. */
export class BoundedWindow<P extends Per> extends CountByWindow<P> {
  /** The length of this window. */
  readonly windowMs: number
  readonly parameters: RuleParameters
  readonly countsFrom: number
  readonly #last: Window
  readonly #this: Window
  readonly #next: Window

  constructor(options: CountOptions<P>, { startOfLast, startOfThis, startOfNext, endOfNext }: Boundaries) {
    super(options)
    this.windowMs = startOfNext - startOfThis
    this.countsFrom = startOfLast
    this.parameters = { limit: options.limit, startOfLast, startOfThis, startOfNext, endOfNext }
    this.#last = { startMs: startOfLast, endMs: startOfThis }
    this.#this = { startMs: startOfThis, endMs: startOfNext }
    this.#next = { startMs: startOfNext, endMs: endOfNext }
    Object.freeze(this)
  }

  /** The window in the middle. */
  get thisWindow(): Window {
    return this.#this
  }

  protected windowAt(nowMs: number): Window {
    const window = nowMs < this.#this.startMs ? this.#last : nowMs < this.#this.endMs ? this.#this : this.#next
    if (nowMs >= window.startMs && nowMs < window.endMs) return window
    throw clocksApart()
  }
}

/** Makes the error of a call whose boundaries are all far from the time of the store. */
export function clocksApart(): SluiceError {
  const message =
    "the clocks of this process and of the store are more than a window apart, so that the process cannot know the store's window: " +
    'nothing was counted; set the clocks right'
  return new SluiceError('ERR_STORE_FATAL', message)
}
