import { expect, test } from 'vitest'
import { calendarWindow } from '../../algorithms/calendar-window/calendar-window.ts'
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts'
import type { GateLimiter } from '../gate/gate-limiter.ts'
import { LimiterCache } from './limiter-cache.ts'

const rule = (limit: number) => fixedWindow({ limit, window: '1m', name: 'plan' })

function setUp() {
  let made = 0
  const cache = new LimiterCache(() => {
    made += 1
    return {} as GateLimiter
  })
  return { cache, made: () => made }
}

test('rules that decide alike have one limiter, whether they are the same objects or not', () => {
  const { cache, made } = setUp()
  const once = [rule(1), fixedWindow({ limit: 5, window: '1h' })]
  expect(cache.obtain(once)).toBe(cache.obtain(once))
  expect(cache.obtain([...once])).toBe(cache.obtain(once))
  expect(cache.obtain(rule(2))).toBe(cache.obtain([rule(2)]))
  expect(made()).toBe(2)
})

test('calendars that differ in their start or zone have limiters of their own', () => {
  const { cache, made } = setUp()
  const month = { limit: 5, every: 'month', name: 'plan' } as const
  cache.obtain(calendarWindow(month))
  cache.obtain(calendarWindow({ ...month, startsOn: 1, timeZone: 'UTC' }))
  expect(made()).toBe(1)
  cache.obtain(calendarWindow({ ...month, startsOn: 15 }))
  cache.obtain(calendarWindow({ ...month, timeZone: 'Europe/Berlin' }))
  expect(made()).toBe(3)
})

test('a thousand limiters are kept; the oldest goes first', () => {
  const { cache, made } = setUp()
  for (let limit = 1; limit <= 1000; limit++) cache.obtain(rule(limit))
  cache.obtain(rule(1))
  expect(made()).toBe(1000)
  cache.obtain(rule(1001))
  cache.obtain(rule(2))
  expect(made()).toBe(1001)
  cache.obtain(rule(1))
  expect(made()).toBe(1002)
})
