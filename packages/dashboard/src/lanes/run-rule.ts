// Runs the library under traffic, on a clock that jumps from event to event.
// Invariant: every number comes from a limiter's answer. Nothing here knows the algorithms.

import { createLimiter, memoryStore, type Rule } from 'sluice'
import { type BusiestWindow, busiestWindow } from './busiest-window.ts'

export interface Traffic {
  /** Times of first attempts, in ms from the start, ascending. */
  readonly arrivals: readonly number[]
  /** Delay of a retry after a denial, in ms. 'retry-after' waits for `retryAfterMs` of the decision. Undefined: no retry. */
  readonly retry: number | 'retry-after' | undefined
  /** Cost of each hit. Default: 1. */
  readonly cost?: number
}

export interface Hit {
  readonly atMs: number
  readonly allowed: boolean
  readonly retryAfterMs: number
  /** Units used after the hit. */
  readonly used: number
}

export interface Run {
  readonly hits: readonly Hit[]
  readonly allowed: number
  readonly denied: number
  readonly busiest: BusiestWindow
  /** Units used over time: before and after each hit, and at regular steps between. */
  readonly level: { readonly atMs: Float64Array; readonly used: Float64Array; readonly length: number }
  /** True if the run ended early, because retrying clients had made MOST_HITS hits. */
  readonly isCut: boolean
}

export const MOST_HITS = 10_000

/** A midnight, so that windows with `anchor: 'clock'` start at multiples of their length. */
const START_MS = 1_763_164_800_000

const STEPS = 720

const KEY = 'playground'

/** More states than one decision has rules. */
const MOST_STATES = 64

/** Runs one rule, or several rules as one decision. The level is that of the first rule. */
export function runRule(
  rules: Rule | readonly Rule[],
  { arrivals, retry, cost = 1 }: Traffic,
  lengthMs: number,
  spanMs: number,
): Run {
  let nowMs = START_MS
  const limiter = createLimiter({ rules, store: memoryStore({ clock: { now: () => nowMs }, maxKeys: MOST_STATES }) })
  const hits: Hit[] = []
  const level = new LevelLine(STEPS + 1 + 2 * MOST_HITS)
  const futureHits = new FutureHits(arrivals)
  let step = 0
  const drawTo = (atMs: number) => {
    for (; step <= STEPS && Math.floor((step * lengthMs) / STEPS) <= atMs; step++) {
      const stepMs = Math.floor((step * lengthMs) / STEPS)
      nowMs = START_MS + stepMs
      level.add(stepMs, limiter.get(KEY))
    }
  }

  while (hits.length < MOST_HITS) {
    const atMs = futureHits.next()
    if (atMs === undefined || atMs >= lengthMs) break
    drawTo(atMs)
    nowMs = START_MS + atMs
    level.add(atMs, limiter.get(KEY))
    const { allowed, retryAfterMs } = limiter.hit(KEY, { cost })
    const used = limiter.get(KEY)
    level.add(atMs, used)
    hits.push({ atMs, allowed, retryAfterMs, used })
    if (!allowed && retry !== undefined) futureHits.add(atMs + (retry === 'retry-after' ? retryAfterMs : retry))
  }
  drawTo(lengthMs)
  limiter.close()

  const passed = hits.filter(({ allowed }) => allowed).map(({ atMs }) => atMs)
  return {
    hits,
    allowed: passed.length,
    denied: hits.length - passed.length,
    busiest: busiestWindow(passed, spanMs),
    level,
    isCut: hits.length === MOST_HITS,
  }
}

class LevelLine {
  readonly atMs: Float64Array
  readonly used: Float64Array
  length = 0

  constructor(most: number) {
    this.atMs = new Float64Array(most)
    this.used = new Float64Array(most)
  }

  add(atMs: number, used: number): void {
    this.atMs[this.length] = atMs
    this.used[this.length] = used
    this.length += 1
  }
}

/** Future hits: first arrivals and retries. At the same time, retries go first. */
class FutureHits {
  readonly #arrivals: readonly number[]
  #arrived = 0
  /** Times of retries, ascending. */
  readonly #again: number[] = []

  constructor(arrivals: readonly number[]) {
    this.#arrivals = arrivals
  }

  next(): number | undefined {
    const again = this.#again[0] ?? Number.POSITIVE_INFINITY
    const arrival = this.#arrivals[this.#arrived] ?? Number.POSITIVE_INFINITY
    if (again === Number.POSITIVE_INFINITY && arrival === Number.POSITIVE_INFINITY) return undefined
    if (again <= arrival) return this.#again.shift()
    this.#arrived += 1
    return arrival
  }

  add(atMs: number): void {
    let at = this.#again.length
    while (at > 0 && this.#again[at - 1] > atMs) at -= 1
    this.#again.splice(at, 0, atMs)
  }
}
