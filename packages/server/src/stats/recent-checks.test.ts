import { expect, test } from 'vitest'
import { MOST_BYTES, RecentChecks } from './recent-checks.ts'

const START = Date.parse('2027-01-15T08:00:00Z')
const MINUTE = 60_000

const check = (clientId: string, route = '/a') => ({ clientId, route, cost: 1 })

test('all checks of the last hour are kept while they fit, and earlier ones are forgotten', () => {
  const recent = new RecentChecks()
  for (let minute = 0; minute < 90; minute++) recent.add(check(`client-${minute}`), START + minute * MINUTE)
  const { checks, ...facts } = recent.read(START + 90 * MINUTE)
  expect(facts).toEqual({ share: 1, missed: 0, decided: 60, sinceMs: START + 30 * MINUTE })
  expect(checks.map(({ clientId }) => clientId)).toEqual(Array.from({ length: 60 }, (_, i) => `client-${i + 30}`))
  expect(recent.read(START + 500 * MINUTE)).toMatchObject({ checks: [], decided: 0 })
})

test('slices that began more than an hour ago are left out, so that the counts are those of one time', () => {
  const recent = new RecentChecks()
  for (const minute of [0, 9, 10, 50]) recent.add(check('ada'), START + minute * MINUTE)
  expect(recent.read(START + 60 * MINUTE)).toMatchObject({ decided: 4, sinceMs: START })
  const later = recent.read(START + 65 * MINUTE)
  expect([later.checks.length, later.decided, later.sinceMs]).toEqual([2, 2, START + 10 * MINUTE])
})

test('under any load memory is bounded, and a client is in the sample with all of its checks or with none', () => {
  const recent = new RecentChecks()
  const rounds = 40
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < 10_000; i++) recent.add(check(`client-${i}`, `/${'x'.repeat(100)}`), START + round * 1000)
    expect(recent.bytes).toBeLessThanOrEqual(MOST_BYTES)
  }
  const { checks, share, missed, decided } = recent.read(START + rounds * 1000)
  const counts = new Map<string, number>()
  for (const { clientId } of checks) counts.set(clientId, (counts.get(clientId) ?? 0) + 1)
  expect([missed, decided]).toEqual([0, rounds * 10_000])
  expect(share).toBeLessThan(1)
  expect(new Set(counts.values())).toEqual(new Set([rounds]))
  expect(counts.size / (10_000 * share)).toBeGreaterThan(0.7)
  expect(counts.size / (10_000 * share)).toBeLessThan(1.3)
})

test('a sample grows again when there are fewer checks', () => {
  const recent = new RecentChecks()
  for (let i = 0; i < 100_000; i++) recent.add(check(`client-${i}`), START)
  expect(recent.read(START).share).toBeLessThan(1)
  for (let minute = 0; minute <= 120; minute++) recent.add(check('ada'), START + minute * MINUTE)
  expect(recent.read(START + 120 * MINUTE).share).toBe(1)
})

test('checks of a single client that do not fit are counted as missed', () => {
  const recent = new RecentChecks()
  for (let i = 0; i < 50_000; i++) recent.add(check('ada'), START + i)
  const { checks, missed } = recent.read(START + 50_000)
  expect(recent.bytes).toBeLessThanOrEqual(MOST_BYTES)
  expect(checks.length + missed).toBe(50_000)
  expect(missed).toBeGreaterThan(0)
})
