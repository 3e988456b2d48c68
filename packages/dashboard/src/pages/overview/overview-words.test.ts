import { describe, expect, test } from 'vitest'
import type { Stats, Status, Top } from '../../api/answers.ts'
import { healthSummary, lastMinute } from './health.ts'
import { latencyText, quantile } from './latency.ts'

const nothing = Array<number>(300).fill(0)
const since_start = { started_at: '', allowed: 0, denied: 0, shadow_denied: 0, errors: 0 }

/** Counts of the last minute, by the second. */
function statsOf(counts: { allowed?: number; denied?: number; errors?: number }): Stats {
  const series = (count = 0) => nothing.map((_, i) => (i >= 300 - count ? 1 : 0))
  return {
    from: 0,
    seconds: 300,
    allowed: series(counts.allowed),
    denied: series(counts.denied),
    shadow_denied: nothing,
    errors: series(counts.errors),
    policies: [],
    policies_complete: true,
    since_start,
  }
}

const store = { kind: 'redis', up: true, breaker_open: false, failure_mode: 'local' } as Status['store']
const up = { store } as Status
const top: Top = { by: 'denied', clients: [{ client_id: '<b>acme</b>', count: 5, error: 0, minutes: [5] }], unlisted_at_most: 0 }

describe('the health summary', () => {
  test('looks at the last minute alone', () => {
    expect(lastMinute(statsOf({ allowed: 200 })).allowed).toBe(60)
    const old = { ...statsOf({}), denied: nothing.with(100, 50) }
    expect(healthSummary(old, up, top)).toMatchObject({ tone: 'good', title: 'All is quiet' })
  })

  test.each([
    [{ allowed: 60 }, 'good', 'All is well'],
    [{ allowed: 60, denied: 5 }, 'good', 'A few checks are denied'],
    [{ allowed: 40, denied: 20 }, 'warn', '33% of checks are denied'],
    [{ allowed: 60, denied: 60, errors: 1 }, 'bad', '1 check could not be decided'],
  ] as const)('of %o is %s: %s', (counts, tone, title) => {
    expect(healthSummary(statsOf(counts), up, top)).toMatchObject({ tone, title })
  })

  test('names who is affected', () => {
    expect(healthSummary(statsOf({ denied: 3 }), up, top).clients).toEqual(['<b>acme</b>'])
  })

  test('puts a store that does not answer first, and says who answers instead', () => {
    const down = { store: { ...store, up: false, failure_mode: 'allow' } } as Status
    expect(healthSummary(statsOf({ errors: 60 }), down, top)).toMatchObject({
      tone: 'bad',
      title: 'The store does not answer',
      text: 'Everything is allowed until it is back.',
    })
  })
})

describe('latency', () => {
  const bounds = [0.00005, 0.001, 0.5]

  test('is that of what happened between two readings', () => {
    const before = { bounds, counts: [0, 0, 100, 0] }
    const after = { bounds, counts: [99, 1, 100, 0] }
    expect(quantile(after, before, 0.99)).toBe(0.00005)
    expect(quantile(after, before, 1)).toBe(0.001)
    expect(quantile(after, undefined, 0.99)).toBe(0.5)
    expect(quantile(after, after, 0.99)).toBeUndefined()
    expect(quantile({ bounds, counts: [0, 0, 0, 1] }, undefined, 0.5)).toBe(Number.POSITIVE_INFINITY)
  })

  test('is shown in the unit that fits', () => {
    expect([0.00005, 0.0025, 0.25, 1, Number.POSITIVE_INFINITY, undefined].map((seconds) => latencyText(seconds, 1))).toEqual([
      '< 50 µs',
      '< 2.5 ms',
      '< 250 ms',
      '< 1 s',
      '> 1 s',
      'none yet',
    ])
  })
})
