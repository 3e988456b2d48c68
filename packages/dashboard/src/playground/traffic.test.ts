import { expect, test } from 'vitest'
import { newTraffic, readTraffic, type Shape } from './traffic.ts'

const arrivals = (shape: Shape, options: Record<string, string>, lengthMs = 60_000) =>
  readTraffic(newTraffic(shape, options), lengthMs).arrivals

test('bursts meet every second boundary from both sides', () => {
  const times = arrivals('bursts', { hits: '2', every: '10s', within: '400ms' })
  expect(times).toEqual([9600, 9800, 10_000, 10_200, 29_600, 29_800, 30_000, 30_200, 49_600, 49_800, 50_000, 50_200])
})

test('steady hits are evenly spaced, without drift', () => {
  expect(arrivals('steady', { hits: '3', every: '1s' }, 2000)).toEqual([0, 333, 666, 1000, 1333, 1666])
  expect(arrivals('steady', { hits: '7', every: '1s' }, 60_000)).toHaveLength(420)
})

test('the same seed gives the same random hits, another gives others', () => {
  const one = arrivals('random', { seed: '1' })
  expect(one).toHaveLength(90)
  expect(one).toEqual(one.toSorted((a, b) => a - b))
  expect(arrivals('random', { seed: '1' })).toEqual(one)
  expect(arrivals('random', { seed: '2' })).not.toEqual(one)
})

test('a retrying client waits for retryAfterMs or for a fixed time', () => {
  const retry = (text: string) => readTraffic(newTraffic('retrying', { retry: text }), 60_000).retry
  expect(retry('told')).toBe('retry-after')
  expect(retry('500ms')).toBe(500)
  expect(readTraffic(newTraffic('steady'), 60_000).retry).toBeUndefined()
})

test.each([
  ['steady', { hits: '0' }, /number of hits must be a whole number of at least 1, got '0'/],
  ['steady', { hits: 'many' }, /got 'many'/],
  ['steady', { every: 'soon' }, /got "soon"/],
  ['random', { seed: '-1' }, /seed must be a whole number of at least 0/],
  ['bursts', { within: '6s' }, /no longer than half/],
  ['steady', { hits: '1000', every: '1s' }, /5000 hits at most, and this would be 60000/],
] as const)('%s traffic with %o is refused', (shape, options, message) => {
  expect(() => readTraffic(newTraffic(shape, options), 60_000)).toThrow(message)
})
