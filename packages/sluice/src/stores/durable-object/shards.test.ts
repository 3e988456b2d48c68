// Keys spread evenly over objects, and few move when there are more objects.

import { expect, test } from 'vitest'
import { shardOf } from './shards.ts'

const KEYS = Array.from({ length: 20_000 }, (_, i) => `user:${i}`)

test.each([2, 3, 16, 100])('keys spread evenly over %i objects', (shards) => {
  const counts = new Array<number>(shards).fill(0)
  for (const key of KEYS) counts[shardOf(key, shards)] += 1
  const even = KEYS.length / shards
  // Four standard deviations of a fair choice.
  for (const count of counts) expect(Math.abs(count - even)).toBeLessThan(4 * Math.sqrt(even) + 1)
})

test.each([1, 4, 16])('with one object more than %i, a key stays or moves to the new one', (shards) => {
  const moved = KEYS.filter((key) => shardOf(key, shards + 1) !== shardOf(key, shards))
  for (const key of moved) expect(shardOf(key, shards + 1)).toBe(shards)
  const expected = KEYS.length / (shards + 1)
  expect(Math.abs(moved.length - expected)).toBeLessThan(4 * Math.sqrt(expected))
})

test('places never change: other Workers must find the same object', () => {
  const places = ['', 'a', 'ada', '😀', '\ud83d', 'x'.repeat(10_000)].map((key) => shardOf(key, 16))
  expect(places).toMatchInlineSnapshot(`
    [
      3,
      0,
      2,
      6,
      14,
      10,
    ]
  `)
})
