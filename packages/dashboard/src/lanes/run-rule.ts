// Runs the library under traffic, on a clock that jumps from event to event.
// Invariant: every number comes from a limiter's answer. Nothing here knows the algorithms.

import { createLimiter, type Hold, holds, memoryStore, type Rule, SluiceError } from 'sluice'
import { type BusiestWindow, busiestWindow } from './busiest-window.ts'

export interface Traffic {
  /** Times of first attempts, in ms from the start, ascending. */
  readonly arrivals: readonly number[]
  /** Delay of a retry after a denial, in ms. 'retry-after' waits for `retryAfterMs` of the decision. Undefined: no retry. */
  readonly retry: number | 'retry-after' | undefined
  /** Cost of each hit. Default: 1. */
  readonly cost?: number
  /** Set if each arrival is work that holds units until it ends. Places of `concurrency` rules are held by any traffic. */
  readonly work?: Work
}

/** Work that holds units. Under a `concurrency` rule it holds one place. */
export interface Work {
  readonly takesMs: number
  readonly units: number
  /** Units that are settled at the end of the work. Undefined: the work is never heard of again, and its hold expires. */
  readonly uses: number | undefined
  /** Time after which a hold expires. A place expires after the `ttl` of its rule. */
  readonly ttlMs: number
}

/** Work of traffic that says nothing about it, under a rule that has nothing but places. */
const SHORT_WORK: Work = { takesMs: 1000, units: 1, uses: 1, ttlMs: 10_000 }

export interface Hit {
  readonly atMs: number
  readonly allowed: boolean
  readonly retryAfterMs: number
  /** Units used after the hit. Units that are held count. */
  readonly used: number
}

export interface Run {
  readonly hits: readonly Hit[]
  readonly allowed: number
  readonly denied: number
  readonly busiest: BusiestWindow
  /** Units used over time: before and after each hit and each end of work, and at regular steps between. */
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
export function runRule(rules: Rule | readonly Rule[], traffic: Traffic, lengthMs: number, spanMs: number): Run {
  const { arrivals, retry } = traffic
  const lane = new LaneLimiter([rules].flat(), traffic)
  const hits: Hit[] = []
  // Each hit and each end of work draws the level before and after it.
  const level = new LevelLine(STEPS + 1 + 4 * MOST_HITS)
  const futureHits = new FutureHits(arrivals)
  let step = 0
  const drawTo = (atMs: number) => {
    for (; step <= STEPS && Math.floor((step * lengthMs) / STEPS) <= atMs; step++) {
      const stepMs = Math.floor((step * lengthMs) / STEPS)
      level.add(stepMs, lane.usedAt(stepMs))
    }
  }
  const endWork = (untilMs: number) => {
    for (let atMs = lane.nextEndMs; atMs <= untilMs && atMs < lengthMs; atMs = lane.nextEndMs) {
      drawTo(atMs)
      level.add(atMs, lane.usedAt(atMs))
      lane.endWork()
      level.add(atMs, lane.usedAt(atMs))
    }
  }

  while (hits.length < MOST_HITS) {
    const atMs = futureHits.next()
    if (atMs === undefined || atMs >= lengthMs) break
    endWork(atMs)
    drawTo(atMs)
    level.add(atMs, lane.usedAt(atMs))
    const { allowed, retryAfterMs } = lane.hit()
    const used = lane.usedAt(atMs)
    level.add(atMs, used)
    hits.push({ atMs, allowed, retryAfterMs, used })
    if (!allowed && retry !== undefined) futureHits.add(atMs + (retry === 'retry-after' ? retryAfterMs : retry))
  }
  endWork(lengthMs)
  drawTo(lengthMs)
  lane.close()

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

/** The limiter of a lane, with its clock and the work under way. */
class LaneLimiter {
  #nowMs = START_MS
  readonly #limiter
  readonly #cost: number
  readonly #work: Work | undefined
  /** True if a rule has nothing but places. */
  readonly #hasPlaces: boolean
  /** Work under way. All work takes the same time, so the first that began ends first. */
  readonly #underWay: { readonly endMs: number; readonly hold: Hold<'sync'> }[] = []

  constructor(rules: readonly Rule[], { cost = 1, work }: Traffic) {
    this.#hasPlaces = rules.some(({ isHeld }) => isHeld)
    this.#cost = cost
    this.#work = work ?? (this.#hasPlaces ? SHORT_WORK : undefined)
    const store = memoryStore({ clock: { now: () => this.#nowMs }, maxKeys: MOST_STATES })
    this.#limiter = createLimiter({ rules, store, holds: holds({ most: MOST_HITS }) })
  }

  /** Time when the next work ends; Infinity if none is under way. */
  get nextEndMs(): number {
    return this.#underWay[0]?.endMs ?? Number.POSITIVE_INFINITY
  }

  /** Moves the clock, and returns the units used. */
  usedAt(atMs: number): number {
    this.#nowMs = START_MS + atMs
    return this.#limiter.get(KEY)
  }

  hit(): { readonly allowed: boolean; readonly retryAfterMs: number } {
    const work = this.#work
    if (work === undefined) return this.#limiter.hit(KEY, { cost: this.#cost })
    const hold = this.#limiter.reserve(KEY, this.#hasPlaces ? { cost: this.#cost } : { hold: work.units, ttl: work.ttlMs })
    const endMs = this.#nowMs - START_MS + work.takesMs
    if (hold.allowed && work.uses !== undefined) this.#underWay.push({ endMs, hold })
    return hold.decision
  }

  /** Settles the work that ends next. A hold that has expired was charged then. */
  endWork(): void {
    try {
      this.#underWay.shift()?.hold.settle(this.#work?.uses)
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error
    }
  }

  close(): void {
    this.#limiter.close()
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
