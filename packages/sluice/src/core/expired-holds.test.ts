import { describe, expect, test, vi } from 'vitest'
import { concurrency, createLimiter, fixedWindow, holds, slidingLog, tokenBucket } from '../index.ts'
import { definitionStore, fakeClock } from '../testing/index.ts'
import { joinHolds, LoadedHolds } from './holds.ts'
import type { RuleLog } from './rule-log.ts'

/** Returns holds whose reads of cells are counted. The earliest end is the last of them. */
function countedHolds(count: number) {
  const open = new LoadedHolds()
  for (let id = 0; id < count; id++) open.add({ id, units: 1, expiresAt: 10_000 - id, isCharged: true })
  const reads = { count: 0 }
  const cells = new Proxy(open.cells, {
    get(target, name, receiver) {
      reads.count += 1
      return Reflect.get(target, name, receiver)
    },
  })
  return { open: Object.defineProperty(open, 'cells', { value: cells }), reads }
}

describe('expired holds', () => {
  test('are taken in the order of their ends, and the others stay in their order', () => {
    const open = new LoadedHolds()
    const ends = [5, 9, 3, 12, 4, 11]
    for (const [id, expiresAt] of ends.entries()) open.add({ id, units: id + 1, expiresAt, isCharged: id % 2 === 0 })
    expect(open.takeExpired(9).map(({ id }) => id)).toEqual([2, 4, 0, 1])
    expect(open.takeExpired(9)).toEqual([])
    expect([open.length, open.units, open.facts(0).id, open.facts(1).id]).toEqual([2, 10, 3, 5])
  })

  test('are taken in a number of steps that grows with their number, and not with its square', () => {
    const few = countedHolds(1_000)
    const many = countedHolds(8_000)
    expect(few.open.takeExpired(10_000)).toHaveLength(1_000)
    expect(many.open.takeExpired(10_000)).toHaveLength(8_000)
    expect(many.reads.count).toBeLessThan(9 * few.reads.count)
  })

  test.each(['get', 'hit'] as const)('of a log are charged with few copies of it by %s', (method) => {
    const rules = slidingLog({ limit: 5_000, window: '1h' })
    const log = rules.log as RuleLog
    let copied = 0
    const { move } = log
    vi.spyOn(log, 'move').mockImplementation((from, fromAt, ...to) => {
      copied += log.end(from, fromAt) - log.first(from, fromAt)
      move(from, fromAt, ...to)
    })
    const clock = fakeClock()
    const limiter = createLimiter({ rules, store: definitionStore(clock), holds: holds() })
    for (let i = 0; i < 1_000; i++) limiter.reserve('k', { hold: 1, ttl: 1 + ((i * 7) % 1_000) })
    clock.advance(1_000)
    copied = 0
    limiter[method]('k')
    expect(copied).toBeGreaterThan(0)
    expect(copied).toBeLessThan(10_000)
    expect(limiter.get('k')).toBe(method === 'hit' ? 1_001 : 1_000)
  })

  test('are charged at their ends: one that ended in an earlier window counts no more', () => {
    const clock = fakeClock()
    const limiter = createLimiter({
      rules: fixedWindow({ limit: 1_000, window: '1m', anchor: 'clock' }),
      store: definitionStore(clock),
      holds: holds(),
    })
    clock.advance(60_000 - (clock.now() % 60_000))
    for (let i = 0; i < 100; i++) limiter.reserve('k', { hold: 1, ttl: (i % 2 === 0 ? 30_000 : 90_000) + i })
    clock.advance(100_000)
    expect(limiter.get('k')).toBe(50)
  })
})

describe('the wait for places', () => {
  const setUp = (count: number) => {
    const clock = fakeClock()
    const rules = concurrency({ limit: 2 * count, ttl: '1h' })
    const limiter = createLimiter({ rules, store: definitionStore(clock), holds: holds({ most: 2 * count }) })
    for (let i = 0; i < count; i++) limiter.reserve('k', { hold: 2, ttl: 1_000 + ((i * 7) % count) })
    return limiter
  }

  test('is found without sorting the holds, if one of them is enough', () => {
    const limiter = setUp(1_000)
    const reads = vi.spyOn(LoadedHolds.prototype, 'expiresAt')
    expect(limiter.reserve('k').decision.retryAfterMs).toBe(1_000)
    expect(limiter.reserve('k', { hold: 2 }).decision.retryAfterMs).toBe(1_000)
    expect(reads.mock.calls.length).toBeLessThan(2 * 5_000)
  })

  test('ends when enough holds have expired', () => {
    const limiter = setUp(10)
    const waits = [3, 4, 5, 20, 21].map((hold) => limiter.reserve('k', { hold }).decision.retryAfterMs)
    expect(waits).toEqual([1_001, 1_001, 1_002, 1_009, Number.POSITIVE_INFINITY])
  })
})

describe('the end of a state with holds', () => {
  const bucketOf = (capacity: number) => tokenBucket({ capacity, refill: 1, every: '1s' })

  /** Returns the end of a state without units of its own, with holds of so many units that are charged at 60 s. */
  function endOf(capacity: number, ...units: readonly number[]): number {
    const open = new LoadedHolds()
    for (const [id, each] of units.entries()) open.add({ id, units: each, expiresAt: 60_000, isCharged: true })
    return joinHolds(new Float64Array(3), open, bucketOf(capacity))[0]
  }

  test('covers the charge of holds that are larger than the limit, after the limit was lowered', () => {
    // 900 tokens at one a second take 900 s, from the end of the holds on.
    expect(endOf(10, 900)).toBeGreaterThanOrEqual(960_000)
    expect(endOf(10, 450, 450)).toBeGreaterThanOrEqual(960_000)
    expect(endOf(1, 2 ** 40)).toBeLessThanOrEqual(8.64e15)
  })

  test('is two windows after the end of holds that are within the limit', () => {
    expect(endOf(1_000, 450, 450)).toBe(60_000 + 2 * 1_000_000)
  })
})
