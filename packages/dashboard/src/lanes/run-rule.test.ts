import { createLimiter, fixedWindow, type Rule, slidingLog } from 'sluice'
import { definitionStore, everyRule, fakeClock } from 'sluice/testing'
import { expect, test } from 'vitest'
import { newTraffic, readTraffic } from '../playground/traffic.ts'
import { MOST_HITS, runRule } from './run-rule.ts'

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
