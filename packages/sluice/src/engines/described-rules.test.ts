// Rules whose arguments depend on the time, on the scripted engine: the process describes them by its clock, and the server decides by its
// own.

import { describe, expect, test, vi } from 'vitest'
import { ToyServer, toyScriptedStore } from '../../test/engines/toy-scripted-store.ts'
import { type CalendarWindowOptions, calendarWindow, createLimiter, fixedWindow, type Rule } from '../index.ts'
import { definitionStore, fakeClock } from '../testing/index.ts'
import { seededRandom } from '../testing/random.ts'
import { walk } from '../testing/walk.ts'
import { DescribedRules } from './described-rules.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const daily = calendarWindow({ limit: 5, every: 'day', name: 'daily' })
const plain = fixedWindow({ limit: 5, window: '1h' })

describe('a description', () => {
  const names = (rules: readonly Rule[]) => rules.map(({ parameters }) => JSON.stringify(parameters)).join()

  test('of rules whose arguments stay is made once, and asks no clock', () => {
    const describe = vi.fn(names)
    const now = vi.fn(() => 0)
    const described = new DescribedRules({ rules: [plain], describe, now })
    expect([described.now, described.now]).toEqual([names([plain]), names([plain])])
    expect(describe).toHaveBeenCalledTimes(1)
    expect(now).not.toHaveBeenCalled()
  })

  test('of a calendar is made again when its window has ended', () => {
    const clock = fakeClock(Date.parse('2026-11-17T12:00Z'))
    const describe = vi.fn(names)
    const described = new DescribedRules({ rules: [plain, daily], describe, now: clock.now })
    const first = described.now
    clock.advance(12 * HOUR_MS - 1)
    expect(described.now).toBe(first)
    expect(describe).toHaveBeenCalledTimes(1)
    clock.advance(1)
    expect(described.now).not.toBe(first)
    expect(described.now).toBe(names([plain, daily.around?.(clock.now()) as Rule]))
    expect(describe).toHaveBeenCalledTimes(2)
    clock.advance(-HOUR_MS)
    expect(described.now).toBe(first)
  })
})

describe('the clock of the server decides, and the clock of the process is up to an hour wrong', () => {
  const calendars: readonly CalendarWindowOptions[] = [
    { limit: 5, every: 'day' },
    { limit: 5, every: 'day', startsOn: '02:30', timeZone: 'Europe/Berlin' },
    { limit: 5, every: 'week', startsOn: 'sunday 02:30', timeZone: 'Europe/Berlin' },
    { limit: 5, every: 'month', startsOn: 28, timeZone: 'Pacific/Apia' },
    { limit: 5, every: 'year', startsOn: '03-29 02:30', timeZone: 'Europe/Berlin' },
  ]
  for (const options of calendars) {
    const rule = calendarWindow(options)
    test(rule.name, async () => {
      const random = seededRandom()
      const clock = fakeClock(Date.parse('2011-11-05T00:00Z'))
      const skewed = { ...clock, now: () => clock.now() + random.whole(-HOUR_MS, HOUR_MS) }
      const tested = createLimiter({ rules: rule, store: toyScriptedStore(new ToyServer(clock), skewed) })
      const defined = createLimiter({ rules: rule, store: definitionStore(clock) })
      await walk({ tested, defined, clock, random, steps: 400 })
    })
  }
})

describe('clocks that are more than a window apart', () => {
  const server = fakeClock(Date.parse('2026-11-17T12:00Z'))
  const process = fakeClock()
  const limiter = createLimiter({ rules: [daily, plain], store: toyScriptedStore(new ToyServer(server), process) })
  const fatal = { code: 'ERR_STORE_FATAL', message: expect.stringContaining('more than a window apart') }

  test.each([DAY_MS, -DAY_MS])('are a window apart at most: %s ms', async (skewMs) => {
    process.set(server.now() + skewMs)
    expect(await limiter.hit('ada')).toMatchObject({ allowed: true })
  })

  test.each([2 * DAY_MS, -2 * DAY_MS, 1000 * DAY_MS])('fail every call that needs the window: %s ms', async (skewMs) => {
    process.set(server.now() + skewMs)
    const calls = [
      () => limiter.hit('eve'),
      () => limiter.peek('eve'),
      () => limiter.refund('eve', 1),
      () => limiter.inc('eve', 1, { rule: 'daily' }),
      () => limiter.set('eve', 1, { rule: 'daily' }),
      () => limiter.get('eve', { rule: 'daily' }),
      () => limiter.expiresAt('eve', { rule: 'daily' }),
    ]
    for (const call of calls) await expect(call()).rejects.toMatchObject(fatal)
    // A reset asks no clock, and other rules need no boundaries.
    await limiter.reset('eve')
    expect(await limiter.hit('eve', { cost: { daily: 0 } })).toMatchObject({ allowed: true })
    process.set(server.now())
    expect(await limiter.get('eve', { rule: 'daily' })).toBe(0)
    await limiter.reset('eve')
  })
})
