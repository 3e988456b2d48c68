import fc from 'fast-check'
import { expect, test } from 'vitest'
import { itemExpiry, KEPT_LONGER_SECONDS } from './item-expiry.ts'

const NOW = 1_763_193_637_123
const DAY_MS = 86_400_000

function expiryAfter(ms: number, systemMs = NOW): number {
  return itemExpiry({ endsAt: NOW + ms, nowMs: NOW, systemMs })
}

test.each([
  [1, 1 + KEPT_LONGER_SECONDS],
  [1000, 1 + KEPT_LONGER_SECONDS],
  [1001, 2 + KEPT_LONGER_SECONDS],
  [3_600_000, 3600 + KEPT_LONGER_SECONDS],
])('a state that ends in %d ms', (ms, seconds) => {
  expect(expiryAfter(ms)).toBe(seconds)
})

test('a state that has ended is kept for a moment, in case the clock steps back', () => {
  expect(expiryAfter(0)).toBe(KEPT_LONGER_SECONDS)
  expect(expiryAfter(-DAY_MS)).toBe(KEPT_LONGER_SECONDS)
})

test('up to 30 days are relative, more is a time since the epoch on the system’s clock', () => {
  const mostMs = 30 * DAY_MS - KEPT_LONGER_SECONDS * 1000
  expect(expiryAfter(mostMs)).toBe(30 * 86_400)
  const systemMs = NOW + 5_000_500
  expect(expiryAfter(mostMs + 1, systemMs)).toBe(Math.ceil(systemMs / 1000) + 30 * 86_400 + 1)
})

test('no expiry is 0, negative, or above what memcached reads', () => {
  fc.assert(
    fc.property(fc.integer({ min: -(2 ** 45), max: 2 ** 45 }), (ms) => {
      const expiry = expiryAfter(ms)
      expect(Number.isInteger(expiry) && expiry > 0 && expiry < 2 ** 31).toBe(true)
      const livesMs = expiry > 30 * 86_400 ? expiry * 1000 - NOW : expiry * 1000
      if (expiry < 2 ** 31 - 1) expect(livesMs).toBeGreaterThanOrEqual(ms + 1000)
    }),
  )
})
