import { expect, test } from 'vitest'
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

function offer(feed: EventFeed, second: number, isDenied: boolean): void {
  if (feed.samples(second, isDenied)) feed.publish(event, isDenied)
}

test('a flood of denials makes a bounded number of events, and says how many it left out', () => {
  const feed = new EventFeed()
  const heard: CheckEvent[] = []
  feed.listen((told) => heard.push(told))
  for (let i = 0; i < 10_000; i++) offer(feed, 1, true)
  offer(feed, 2, true)
  expect(heard).toHaveLength(51)
  expect(heard[50].skipped).toBe(9950)
  expect(feed.recent).toHaveLength(51)
})

test('allowed checks are sampled only while somebody listens, and do not crowd out the denied', () => {
  const feed = new EventFeed()
  expect(feed.samples(1, false)).toBe(false)
  const heard: CheckEvent[] = []
  const stop = feed.listen((told) => heard.push(told))
  for (let i = 0; i < 1000; i++) offer(feed, 1, false)
  offer(feed, 1, true)
  expect(heard).toHaveLength(11)
  stop?.()
  expect(feed.samples(2, false)).toBe(false)
})

test('the latest denials are kept for those who come later, a hundred of them', () => {
  const feed = new EventFeed()
  for (let second = 0; second < 500; second++) offer(feed, second, true)
  expect(feed.recent).toHaveLength(100)
})

test('listeners are bounded', () => {
  const feed = new EventFeed()
  const stops = Array.from({ length: 64 }, () => feed.listen(() => {}))
  expect(feed.listen(() => {})).toBeUndefined()
  stops[0]?.()
  expect(feed.listen(() => {})).toBeTypeOf('function')
})
