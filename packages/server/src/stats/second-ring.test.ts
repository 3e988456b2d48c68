import { expect, test } from 'vitest'
import { HourRing, RING_HOURS, RING_SECONDS, SecondRing } from './second-ring.ts'

const T = 1_800_000_000

test('counts by second and column', () => {
  const ring = new SecondRing()
  ring.add(T, 0)
  ring.add(T, 0)
  ring.add(T, 1)
  ring.add(T + 2, 0)
  expect(ring.read('allowed', T + 2, 3)).toEqual([2, 0, 1])
  expect(ring.read('denied', T + 2, 3)).toEqual([1, 0, 0])
})

test('a second older than an hour is gone, even if nothing was counted in between', () => {
  const ring = new SecondRing()
  ring.add(T, 0)
  ring.add(T + RING_SECONDS, 1)
  expect(ring.read('allowed', T + RING_SECONDS, RING_SECONDS)).toEqual(new Array(RING_SECONDS).fill(0))
  const later = new SecondRing()
  for (let second = 0; second < RING_SECONDS; second++) later.add(T + second, 0)
  later.add(T + 10 * RING_SECONDS + 5, 0)
  expect(later.read('allowed', T + 10 * RING_SECONDS + 5, RING_SECONDS).reduce((a, b) => a + b)).toBe(1)
})

test('reading past the latest second returns zeros', () => {
  const ring = new SecondRing()
  ring.add(T, 0)
  expect(ring.read('allowed', T + 3, 5)).toEqual([0, 1, 0, 0, 0])
  expect(ring.read('allowed', T + RING_SECONDS + 3, 5)).toEqual([0, 0, 0, 0, 0])
})

test('a clock that steps back counts in the latest second', () => {
  const ring = new SecondRing()
  ring.add(T, 0)
  ring.add(T - 100, 0)
  expect(ring.read('allowed', T, 101)).toEqual([...new Array(100).fill(0), 2])
})

test('a ring of hours has a month, and forgets older hours', () => {
  const ring = new HourRing()
  for (let hour = 0; hour <= RING_HOURS; hour++) ring.add(500_000 + hour, hour % 2)
  const last = 500_000 + RING_HOURS
  expect(ring.read('allowed', last, RING_HOURS).reduce((a, b) => a + b)).toBe(RING_HOURS / 2)
  expect(ring.read('allowed', last, RING_HOURS + 1)[0]).toBe(0)
})
