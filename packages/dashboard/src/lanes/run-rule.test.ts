import { calendarWindow, concurrency, createLimiter, fixedWindow, type Rule, slidingLog } from 'sluice'
import { definitionStore, everyRule, fakeClock } from 'sluice/testing'
import { describe, expect, test } from 'vitest'
import { newTraffic, readTraffic } from '../playground/traffic.ts'
import { MOST_HITS, type Run, runRule } from './run-rule.ts'

const LENGTH_MS = 60_000
const SPAN_MS = 10_000

/** Makes the same hits, one by one, on the store that runs only the definition. */
function hitsByHand(rule: Rule, arrivals: readonly number[]) {
  const clock = fakeClock(1_763_164_800_000)
  const limiter = createLimiter({ rules: rule, store: definitionStore(clock) })
  let lastMs = 0
  return arrivals.map((atMs) => {
    clock.advance(atMs - lastMs)
    lastMs = atMs
    const { allowed, retryAfterMs } = limiter.hit('somebody')
    return { atMs, allowed, retryAfterMs, used: limiter.get('somebody') }
  })
}

test.each(everyRule().map((rule) => [rule.name, rule] as const))('%s answers as the definition does', (_name, rule) => {
  for (const shape of ['bursts', 'steady', 'random'] as const) {
    const traffic = readTraffic(newTraffic(shape), LENGTH_MS)
    const run = runRule(rule, traffic, LENGTH_MS, SPAN_MS)
    const expected = hitsByHand(rule, traffic.arrivals)
    expect(run.hits).toEqual(expected)
    expect(run.allowed).toBe(expected.filter(({ allowed }) => allowed).length)
    expect(run.allowed + run.denied).toBe(expected.length)
  }
})

test('a client that waits for retryAfterMs retries exactly then, and passes', () => {
  const rule = slidingLog({ limit: 2, window: '10s' })
  const { hits } = runRule(rule, { arrivals: [0, 1, 2, 3], retry: 'retry-after' }, LENGTH_MS, SPAN_MS)
  expect(hits.map(({ atMs, allowed }) => [atMs, allowed])).toEqual([
    [0, true],
    [1, true],
    [2, false],
    [3, false],
    [10_000, true],
    [10_000, false],
    [10_001, true],
  ])
})

test('a client that retries as it likes comes after its own pause', () => {
  const rule = slidingLog({ limit: 1, window: '1s' })
  const { hits } = runRule(rule, { arrivals: [0, 0], retry: 400 }, LENGTH_MS, SPAN_MS)
  expect(hits.map(({ atMs, allowed }) => [atMs, allowed])).toEqual([
    [0, true],
    [0, false],
    [400, false],
    [800, false],
    [1200, true],
  ])
})

test('clients that never stop retrying are cut off', () => {
  const rule = fixedWindow({ limit: 10, window: '10s' })
  const traffic = readTraffic(newTraffic('retrying', { hits: '80', every: '1s', retry: '500ms' }), LENGTH_MS)
  const run = runRule(rule, traffic, LENGTH_MS, SPAN_MS)
  expect(run.isCut).toBe(true)
  expect(run.hits).toHaveLength(MOST_HITS)
})

test('the line of what is used goes from the start to the end and through every hit', () => {
  const traffic = readTraffic(newTraffic('steady'), LENGTH_MS)
  for (const rule of everyRule()) {
    const { level, hits } = runRule(rule, traffic, LENGTH_MS, SPAN_MS)
    const times = [...level.atMs.subarray(0, level.length)]
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(times[0]).toBe(0)
    expect(times.at(-1)).toBe(LENGTH_MS)
    for (const { atMs, used } of hits) expect(level.used[times.lastIndexOf(atMs)]).toBe(used)
  }
})

describe('work that takes time', () => {
  const work = { takesMs: 3000, units: 3, uses: 1, ttlMs: 10_000 }
  const usedAt = ({ level }: Run, atMs: number) => level.used[level.atMs.subarray(0, level.length).lastIndexOf(atMs)]
  const fixed = fixedWindow({ limit: 5, window: '1d' })

  test('holds a place until it ends', () => {
    const run = runRule(
      concurrency({ limit: 2, ttl: '10s' }),
      { arrivals: [0, 1, 2, 3000, 3001], retry: undefined, work },
      LENGTH_MS,
      SPAN_MS,
    )
    expect(run.hits.map(({ allowed, used }) => [allowed, used])).toEqual([
      [true, 1],
      [true, 2],
      [false, 2],
      [true, 2],
      [true, 2],
    ])
    expect(usedAt(run, 6001)).toBe(0)
  })

  test('holds a place for a second under traffic that says nothing', () => {
    const run = runRule(concurrency({ limit: 1, ttl: '10s' }), { arrivals: [0, 999, 1000], retry: undefined }, LENGTH_MS, SPAN_MS)
    expect(run.hits.map(({ allowed }) => allowed)).toEqual([true, false, true])
  })

  test.each([
    ['less than it held', 1, 3, 1],
    ['as much', 3, 3, 3],
    ['more', 6, 3, 6],
  ])('settles %s', (_, uses, held, after) => {
    const run = runRule(fixed, { arrivals: [0], retry: undefined, work: { ...work, uses } }, LENGTH_MS, SPAN_MS)
    expect([run.hits[0].used, usedAt(run, 3000), usedAt(run, LENGTH_MS)]).toEqual([held, after, after])
  })

  test('that is never heard of again is charged when its hold expires; its place is free at its ttl', () => {
    const crashed = { arrivals: [0, 1, 9999, 10_000], retry: undefined, work: { ...work, uses: undefined } }
    const places = runRule(concurrency({ limit: 1, ttl: '10s' }), crashed, LENGTH_MS, SPAN_MS)
    expect(places.hits.map(({ allowed }) => allowed)).toEqual([true, false, false, true])
    const units = runRule(fixed, crashed, LENGTH_MS, SPAN_MS)
    expect(units.hits.map(({ allowed, used }) => [allowed, used])).toEqual([
      [true, 3],
      [false, 3],
      [false, 3],
      [false, 3],
    ])
  })

  test('that outlasts its hold is charged in full', () => {
    const run = runRule(fixed, { arrivals: [0], retry: undefined, work: { ...work, takesMs: 20_000 } }, LENGTH_MS, SPAN_MS)
    expect(usedAt(run, LENGTH_MS)).toBe(3)
  })

  test('runs under every rule, as the form has it', () => {
    for (const settles of ['low', 'same', 'high', 'never']) {
      const traffic = readTraffic(newTraffic('working', { settles }), LENGTH_MS)
      for (const rule of [...everyRule(), calendarWindow({ limit: 10, every: 'day' }), concurrency({ limit: 2, ttl: '10s' })]) {
        const { hits, level } = runRule(rule, traffic, LENGTH_MS, SPAN_MS)
        expect(hits).toHaveLength(36)
        const times = [...level.atMs.subarray(0, level.length)]
        expect(times).toEqual(times.toSorted((a, b) => a - b))
      }
    }
  })
})
