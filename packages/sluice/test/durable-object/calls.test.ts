// Calls on Durable Objects in workerd: stampedes from two Workers, messages of a turn, objects that are reset or fail, the clock.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { whyNoWorkerd } from '../../../../test/servers/workerd-server.mjs'
import type { RuleSpec } from '../../src/algorithms/catalogue.ts'
import { allowedIn, codesOf, Front, freshName, HOUR_MS, hundred, START_MS, times, valuesOf } from './front.ts'
import type { CallOutcome } from './front-worker.ts'

const whyNot = whyNoWorkerd()

describe(`calls on Durable Objects${whyNot && `, skipped: ${whyNot}`}`, { skip: whyNot !== '' }, () => {
  const front = new Front()
  beforeAll(() => front.start())
  afterAll(() => front.remove())
  beforeEach(() => front.setUp({ now: null, maxKeys: 1000, fault: null }))

  describe('a stampede of requests from two Workers', () => {
    test('lets exactly the limit through', async () => {
      const store = { name: freshName() }
      const requests = Array.from({ length: 60 }, (_, i) =>
        front.calls({ rules: [hundred], store, calls: times(5, 'hit', 'ada') }, i % 2 === 0 ? 'first' : 'second'),
      )
      expect((await Promise.all(requests)).reduce((sum, outcomes) => sum + allowedIn(outcomes), 0)).toBe(100)
    })

    test('over keys of several objects exceeds no limit, and leaves nothing charged by a denied hit', async () => {
      const store = { name: freshName(), shards: 5 }
      const rules: RuleSpec[] = [
        { algorithm: 'fixed-window', limit: 30, window: '1h', name: 'user', per: 'user' },
        { algorithm: 'token-bucket', capacity: 50, refill: 1, every: '1d', name: 'org', per: 'org' },
      ]
      const subjects = Array.from({ length: 80 }, (_, i) => ({ user: `u${i % 4}`, org: `o${i % 3}` }))
      const outcomes = await Promise.all(
        subjects.map((subject, i) => front.calls({ rules, store, calls: times(3, 'hit', subject) }, i % 2 ? 'first' : 'second')),
      )
      for (const [name, rule, limit] of [
        ['user', 'user', 30],
        ['org', 'org', 50],
      ] as const) {
        for (const key of new Set(subjects.map((subject) => subject[name]))) {
          const allowed = subjects.reduce((sum, subject, i) => sum + (subject[name] === key ? allowedIn(outcomes[i]) : 0), 0)
          const subject = { user: 'u0', org: 'o0', [name]: key }
          const [used] = valuesOf(await front.calls({ rules, store, calls: [['get', subject, { rule }]] }))
          expect([key, used, allowed <= limit]).toEqual([key, allowed, true])
        }
      }
    })
  })

  describe('a calendar, by the clock of the object', () => {
    const day: RuleSpec = { algorithm: 'calendar-window', limit: 5, every: 'day', timeZone: 'Asia/Kathmandu', name: 'day' }
    const calls = [['hit', 'ada'] as const]

    test.each([-HOUR_MS, 0, HOUR_MS])('which is %s ms ahead', async (aheadMs) => {
      const now = Date.now() + aheadMs
      await front.setUp({ now })
      const store = { name: freshName() }
      await front.calls({ rules: [day], store, calls })
      const [endsAt] = valuesOf(await front.calls({ rules: [day], store, calls: [['expiresAt', 'ada']] }))
      // Kathmandu is 5 hours and 45 minutes ahead of UTC.
      const offsetMs = 5.75 * HOUR_MS
      expect(endsAt).toBe((Math.floor((now + offsetMs) / (24 * HOUR_MS)) + 1) * 24 * HOUR_MS - offsetMs)
    })

    test.each([-72, 72])('which is %s hours ahead: no window fits', async (hours) => {
      await front.setUp({ now: Date.now() + hours * HOUR_MS })
      expect(codesOf(await front.calls({ rules: [day], store: { name: freshName() }, calls }))).toEqual(['ERR_STORE_FATAL'])
    })
  })

  test('the calls of a turn are one message for each object', async () => {
    const store = { name: freshName(), shards: 4 }
    await front.setUp({})
    const calls = Array.from({ length: 60 }, (_, i) => ['hit', `key-${i}`] as const)
    expect(allowedIn(await front.calls({ rules: [hundred], store, calls }))).toBe(60)
    expect(await front.setUp({})).toBe(4)
  })

  test('more calls than a message takes are several messages', async () => {
    const store = { name: freshName() }
    await front.setUp({})
    expect(allowedIn(await front.calls({ rules: [hundred], store, calls: times(600, 'hit', 'ada') }))).toBe(100)
    expect(await front.setUp({})).toBe(3)
  })

  test('size and clean sum over all objects', async () => {
    const name = freshName()
    const calls = Array.from({ length: 40 }, (_, i) => ['hit', `key-${i}`] as const)
    await front.setUp({ now: START_MS })
    await front.calls({ rules: [hundred], store: { name, shards: 4 }, calls })
    const counts = await Promise.all([0, 1, 2, 3].map((shard) => front.rows(`${name}:${shard}`)))
    expect(counts.reduce((sum, count) => sum + count)).toBe(40)
    expect(Math.min(...counts)).toBeGreaterThan(2)
    await front.setUp({ now: START_MS + HOUR_MS })
    for (const [shard, count] of counts.entries()) {
      expect(await front.task(`${name}:${shard}`, 'size')).toBe(count)
      expect(await front.task(`${name}:${shard}`, 'clean')).toBe(count)
      expect(await front.task(`${name}:${shard}`, 'size')).toBe(0)
    }
  })

  describe('a reset of the object', () => {
    test('loses nothing that was answered', async () => {
      const store = { name: freshName() }
      expect(allowedIn(await front.calls({ rules: [hundred], store, calls: times(40, 'hit', 'ada') }))).toBe(40)
      expect(await front.test(`${store.name}:0`, 'abort')).toContain('aborted by a test')
      expect(valuesOf(await front.calls({ rules: [hundred], store, calls: [['get', 'ada']] }))).toEqual([40])
    })

    test.each([
      ['throw', 0],
      ['throw after', 3],
      ['page', 3],
    ])('with the fault %s, a call is unknown, and counted at most once', async (fault, counted) => {
      const store = { name: freshName() }
      await front.setUp({ fault })
      expect(codesOf(await front.calls({ rules: [hundred], store, calls: times(3, 'hit', 'ada') }))).toEqual(
        Array(3).fill('ERR_STORE_UNKNOWN'),
      )
      await front.setUp({ fault: null })
      expect(valuesOf(await front.calls({ rules: [hundred], store, calls: [['get', 'ada']] }))).toEqual([counted])
    })

    test('an object that does not answer fails its callers at their deadline, and no other object', async () => {
      const store = { name: freshName() }
      await front.setUp({ fault: 'silence' })
      const outcomes = await front.calls({ rules: [hundred], store, failure: { timeoutMs: 100 }, calls: [['hit', 'ada']] })
      expect(codesOf(outcomes)).toEqual(['ERR_STORE_UNKNOWN'])
      await front.setUp({ fault: null })
      expect(allowedIn(await front.calls({ rules: [hundred], store: { name: freshName() }, calls: [['hit', 'ada']] }))).toBe(1)
    })
  })

  test('a message that the database cannot store is refused as a whole, and counts nothing', async () => {
    const store = { name: freshName() }
    const object = `${store.name}:0`
    await front.calls({ rules: [hundred], store, calls: [['hit', 'ada']] })
    const full =
      "CREATE TRIGGER full BEFORE INSERT ON sluice_states_1 WHEN NEW.name LIKE 'bob|%' BEGIN SELECT RAISE(ABORT, 'no space'); END"
    await front.test(object, 'sql', full)
    const calls = ['ada', 'ann', 'bob'].map((key) => ['hit', key] as const)
    const outcomes = await front.calls({ rules: [hundred], store, failure: { timeoutMs: 100 }, calls })
    // The limiter sends refused calls on other keys again, alone.
    expect(codesOf(outcomes)).toEqual(['answered', 'answered', 'ERR_STORE_REFUSED'])
    expect(outcomes[2]).toMatchObject({ message: expect.stringContaining('no space') })
    await front.test(object, 'sql', 'DROP TRIGGER full')
    const reads = ['ada', 'ann', 'bob'].map((key) => ['get', key] as const)
    expect(valuesOf(await front.calls({ rules: [hundred], store, calls: reads }))).toEqual([2, 1, 0])
    expect(await front.task(object, 'size')).toBe(2)
  })

  test("rules use the object's clock", async () => {
    const store = { name: freshName() }
    await front.setUp({ now: START_MS })
    await front.calls({ rules: [hundred], store, calls: times(100, 'hit', 'ada') })
    expect(valuesOf(await front.calls({ rules: [hundred], store, calls: [['expiresAt', 'ada']] }))).toEqual([START_MS + HOUR_MS])
    await front.setUp({ now: START_MS + HOUR_MS - 1 })
    expect(allowedIn(await front.calls({ rules: [hundred], store, calls: [['hit', 'ada']] }))).toBe(0)
    await front.setUp({ now: START_MS + HOUR_MS })
    expect(allowedIn(await front.calls({ rules: [hundred], store, calls: [['hit', 'ada']] }))).toBe(1)
  })

  test('a damaged value fails the calls on its key alone, and reset deletes it', async () => {
    const store = { name: freshName() }
    await front.calls({
      rules: [hundred],
      store,
      calls: [
        ['hit', 'ada'],
        ['hit', 'bob'],
      ],
    })
    await front.test(`${store.name}:0`, 'sql', "UPDATE sluice_states_1 SET value = x'0102' WHERE name LIKE 'ada|%'")
    const outcomes = await front.calls({
      rules: [hundred],
      store,
      calls: [
        ['hit', 'ada'],
        ['hit', 'bob'],
        ['reset', 'ada'],
        ['hit', 'ada'],
      ],
    })
    expect(codesOf(outcomes)).toEqual(['ERR_STORE_FATAL', 'answered', 'answered', 'answered'])
    expect((outcomes[0] as Extract<CallOutcome, { code: string }>).message).toContain('ada|')
    expect(allowedIn([outcomes[1], outcomes[3]])).toBe(2)
  })
})
