import { afterEach, expect, test, vi } from 'vitest'
import { type CheckEvent, EventFeed } from './event-feed.ts'

const event = {
  time: '2027-01-15T08:00:00.000Z',
  client_id: 'ada',
  route: '/orders',
  cost: 1,
  policy: 'default',
  outcome: 'deny',
  reason: 'limit',
  rule: 'requests',
  limit: 100,
  remain: 0,
  retry_after_ms: 41_000,
  source: 'store',
} as const

afterEach(() => {
  vi.useRealTimers()
})

function offer(feed: EventFeed, second: number, isDenied: boolean): void {
  if (feed.samples(second, isDenied)) feed.publish(event, isDenied)
}

/** Collects the events of a feed from now on. */
function hear(feed: EventFeed) {
  vi.useFakeTimers()
  const batches: (readonly CheckEvent[])[] = []
  const stop = feed.listen((events) => batches.push(events))
  const heard = () => {
    vi.advanceTimersByTime(50)
    return batches.flat()
  }
  return { batches, heard, stop: () => stop?.() }
}

test('a flood of denials causes a bounded number of events, with the number of skipped ones', () => {
  const feed = new EventFeed()
  const { heard } = hear(feed)
  for (let i = 0; i < 10_000; i++) offer(feed, 1, true)
  offer(feed, 2, true)
  expect(heard()).toHaveLength(501)
  expect(heard()[500].skipped).toBe(9500)
})

test('fewer denials are kept while there are no listeners', () => {
  const feed = new EventFeed()
  for (let i = 0; i < 1000; i++) offer(feed, 1, true)
  expect(feed.recent).toHaveLength(50)
})

test('allowed checks are sampled only with listeners, and do not displace denied ones', () => {
  const feed = new EventFeed()
  expect(feed.samples(1, false)).toBe(false)
  const { heard, stop } = hear(feed)
  for (let i = 0; i < 1000; i++) offer(feed, 1, false)
  offer(feed, 1, true)
  expect(heard()).toHaveLength(501)
  stop()
  expect(feed.samples(2, false)).toBe(false)
})

test('events of one interval are passed on together, as the same array to all listeners', () => {
  const feed = new EventFeed()
  const [first, second] = [hear(feed), hear(feed)]
  for (let i = 0; i < 3; i++) offer(feed, 1, true)
  expect(first.batches).toEqual([])
  expect(first.heard()).toHaveLength(3)
  offer(feed, 1, true)
  expect(first.heard()).toHaveLength(4)
  expect(first.batches).toHaveLength(2)
  expect(second.batches[1]).toBe(first.batches[1])
})

test('the latest hundred denials are kept for later listeners', () => {
  const feed = new EventFeed()
  for (let second = 0; second < 500; second++) offer(feed, second, true)
  expect(feed.recent).toHaveLength(100)
})

test('the number of listeners is bounded', () => {
  const feed = new EventFeed()
  const stops = Array.from({ length: 64 }, () => feed.listen(() => {}))
  expect(feed.listen(() => {})).toBeUndefined()
  stops[0]?.()
  expect(feed.listen(() => {})).toBeTypeOf('function')
})
