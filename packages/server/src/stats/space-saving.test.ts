import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SpaceSaving } from './space-saving.ts'

test('is exact until it is full', () => {
  const sketch = new SpaceSaving(10, 1)
  for (const item of 'abracadabra') sketch.add(item, 0)
  expect(sketch.get('a')).toMatchObject({ count: 5, error: 0 })
  expect(sketch.get('b')).toMatchObject({ count: 2, error: 0 })
  expect(sketch.least).toBe(0)
})

test('has the occurrences of an item by step, since it is kept', () => {
  const sketch = new SpaceSaving(1, 3)
  for (const step of [0, 0, 2]) sketch.add('a', step)
  expect(sketch.get('a')?.bySteps).toEqual(Uint32Array.of(2, 0, 1))
  for (let i = 0; i < 3; i++) sketch.add('b', 2)
  expect(sketch.get('b')).toBeUndefined()
  sketch.add('b', 2)
  expect(sketch.get('b')).toMatchObject({ count: 4, error: 3, bySteps: Uint32Array.of(0, 0, 1) })
  expect(sketch.get('a')).toBeUndefined()
})

test('rare items do not displace frequent ones', () => {
  const sketch = new SpaceSaving(4, 1)
  for (let i = 0; i < 8000; i++) sketch.add(i % 2 === 0 ? `regular-${i % 8}` : `passer-by-${i}`, 0)
  for (const regular of ['regular-0', 'regular-2', 'regular-4', 'regular-6']) {
    expect(sketch.get(regular)?.count).toBe(1000)
    expect(sketch.get(regular)?.error).toBeLessThanOrEqual(1)
  }
})

test('never holds more than its maximum', () => {
  const sketch = new SpaceSaving(8, 1)
  for (let i = 0; i < 10_000; i++) sketch.add(`client-${i}`, 0)
  expect(sketch.size).toBe(8)
  expect([...sketch.items()]).toHaveLength(8)
})

test('any items in any order: the true count is between count − error and count, and items that are not kept are below least', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 600 }), fc.integer({ min: 1, max: 12 }), (seen, most) => {
      const sketch = new SpaceSaving(most, 1)
      const truth = new Map<string, number>()
      for (const number of seen) {
        const item = String(number)
        sketch.add(item, 0)
        truth.set(item, (truth.get(item) ?? 0) + 1)
      }
      for (const [item, count] of truth) {
        const kept = sketch.get(item)
        if (kept === undefined) expect(count).toBeLessThanOrEqual(sketch.least)
        else {
          expect(kept.count).toBeGreaterThanOrEqual(count)
          expect(kept.count - kept.error).toBeLessThanOrEqual(count)
        }
      }
      expect(sketch.least).toBeLessThanOrEqual(seen.length / most)
    }),
  )
})
