// Rows of a Durable Object in workerd: their bound, and the sweeping of those that have ended.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { whyNoWorkerd } from '../../../../test/servers/workerd-server.mjs'
import type { RuleSpec } from '../../src/algorithms/catalogue.ts'
import { allowedIn, Front, freshName, HOUR_MS, hundred, START_MS, times } from './front.ts'

const whyNot = whyNoWorkerd()

describe(`rows of Durable Objects${whyNot && `, skipped: ${whyNot}`}`, { skip: whyNot !== '' }, () => {
  const front = new Front()
  beforeAll(() => front.start())
  afterAll(() => front.remove())
  beforeEach(() => front.setUp({ now: null, maxKeys: 1000, fault: null }))

  test('the longest log fits into a row', async () => {
    const store = { name: freshName() }
    const rules: RuleSpec[] = [{ algorithm: 'sliding-log', limit: 100_000, window: '1d' }]
    await front.setUp({ now: START_MS })
    await front.calls({ rules, store, calls: [['get', 'full']] })
    await front.test(`${store.name}:0`, 'full-log', '100000')
    await front.setUp({ now: START_MS + 1 })
    const outcomes = await front.calls({ rules, store, calls: times(2, 'hit', 'full') })
    expect(allowedIn(outcomes)).toBe(1)
  })

  describe('the number of rows', () => {
    const BOUND = 200

    test('is bounded, and a flood of new keys does not free a key that has used its limit', async () => {
      const store = { name: freshName() }
      const object = `${store.name}:0`
      await front.setUp({ maxKeys: BOUND })
      await front.calls({ rules: [hundred], store, calls: Array.from({ length: 250 }, (_, i) => ['hit', `first-${i}`] as const) })
      await front.calls({ rules: [hundred], store, calls: times(100, 'hit', 'victim') })
      for (let flood = 0; flood < 12; flood++) {
        const calls = Array.from({ length: 250 }, (_, i) => ['hit', `flood-${flood}-${i}`] as const)
        expect(allowedIn(await front.calls({ rules: [hundred], store, calls }))).toBe(250)
        expect(await front.rows(object)).toBeLessThanOrEqual(BOUND)
      }
      expect(await front.task(object, 'size')).toBe(await front.rows(object))
      expect(await front.rows(object)).toBeGreaterThan(BOUND / 2)
      expect(allowedIn(await front.calls({ rules: [hundred], store, calls: [['hit', 'victim']] }))).toBe(0)
    })

    test('of one is enough for a limiter of one rule', async () => {
      const store = { name: freshName() }
      await front.setUp({ maxKeys: 1 })
      expect(
        allowedIn(
          await front.calls({
            rules: [hundred],
            store,
            calls: [
              ['hit', 'ada'],
              ['hit', 'bob'],
            ],
          }),
        ),
      ).toBe(2)
      expect(await front.rows(`${store.name}:0`)).toBe(1)
    })

    test('of fewer rows than a search reads is counted right', async () => {
      const store = { name: freshName() }
      const object = `${store.name}:0`
      await front.setUp({ maxKeys: 20 })
      const calls = Array.from({ length: 250 }, (_, i) => ['hit', `key-${i}`] as const)
      expect(allowedIn(await front.calls({ rules: [hundred], store, calls }))).toBe(250)
      expect(await front.rows(object)).toBeLessThanOrEqual(20)
      expect(await front.task(object, 'size')).toBe(await front.rows(object))
    })

    test('of a full table with only used-up keys stays bounded too', async () => {
      const store = { name: freshName() }
      const rules: RuleSpec[] = [{ algorithm: 'fixed-window', limit: 1, window: '1h' }]
      await front.setUp({ maxKeys: BOUND })
      const calls = Array.from({ length: 3 * BOUND }, (_, i) => ['hit', `key-${i}`] as const)
      expect(allowedIn(await front.calls({ rules, store, calls }))).toBe(3 * BOUND)
      expect(await front.rows(`${store.name}:0`)).toBeLessThanOrEqual(BOUND)
    })

    test('falls when rows have ended for an hour, with later writes', async () => {
      const store = { name: freshName() }
      const object = `${store.name}:0`
      await front.setUp({ now: START_MS })
      await front.calls({ rules: [hundred], store, calls: Array.from({ length: 250 }, (_, i) => ['hit', `old-${i}`] as const) })
      await front.setUp({ now: START_MS + 2 * HOUR_MS - 1 })
      await front.calls({ rules: [hundred], store, calls: Array.from({ length: 250 }, (_, i) => ['hit', `young-${i}`] as const) })
      expect(await front.rows(object)).toBe(500)
      await front.setUp({ now: START_MS + 2 * HOUR_MS })
      for (let i = 0; i < 4; i++) {
        await front.calls({
          rules: [hundred],
          store,
          calls: Array.from({ length: 64 }, (_, j) => ['hit', `young-${j}`] as const),
        })
      }
      expect(await front.rows(object)).toBe(250)
    })
  })

  describe('alarms', () => {
    test('an object has one from its first write on, and drops rows that have ended for an hour', async () => {
      const store = { name: freshName() }
      const object = `${store.name}:0`
      await front.setUp({ now: START_MS })
      await front.calls({ rules: [hundred], store, calls: [['peek', 'ada']] })
      expect(await front.test(object, 'alarm-at')).toBeNull()
      await front.calls({ rules: [hundred], store, calls: Array.from({ length: 30 }, (_, i) => ['hit', `key-${i}`] as const) })
      const alarmAt = (await front.test(object, 'alarm-at')) as number
      expect(Math.abs(alarmAt - Date.now() - 2 * HOUR_MS)).toBeLessThan(60_000)
      await front.setUp({ now: START_MS + 2 * HOUR_MS - 1 })
      await front.test(object, 'alarm')
      expect(await front.rows(object)).toBe(30)
      await front.setUp({ now: START_MS + 2 * HOUR_MS })
      await front.test(object, 'alarm')
      expect(await front.rows(object)).toBe(0)
    })

    test('workerd calls them', async () => {
      const store = { name: freshName() }
      const object = `${store.name}:0`
      await front.setUp({ now: START_MS })
      await front.calls({ rules: [hundred], store, calls: [['hit', 'ada']] })
      await front.setUp({ now: START_MS + 3 * HOUR_MS })
      await front.test(object, 'alarm-now')
      await expect.poll(() => front.rows(object)).toBe(0)
      expect(await front.test(object, 'alarm-at')).toBeNull()
    })

    test('one that would come long after a new row can be swept is set anew', async () => {
      const store = { name: freshName() }
      const object = `${store.name}:0`
      const rules: RuleSpec[] = [{ algorithm: 'fixed-window', limit: 9, window: '30d' }]
      await front.calls({ rules, store, calls: [['hit', 'ada']] })
      const late = (await front.test(object, 'alarm-at')) as number
      expect(late).toBeGreaterThan(Date.now() + 29 * 24 * HOUR_MS)
      await front.calls({ rules: [hundred], store, calls: [['hit', 'ada']] })
      expect((await front.test(object, 'alarm-at')) as number).toBeLessThan(Date.now() + 3 * HOUR_MS)
    })

    test('an object that was reset keeps its alarm', async () => {
      const store = { name: freshName() }
      const object = `${store.name}:0`
      await front.calls({ rules: [hundred], store, calls: [['hit', 'ada']] })
      const alarmAt = await front.test(object, 'alarm-at')
      await front.test(object, 'abort')
      await front.calls({ rules: [hundred], store, calls: [['hit', 'bob']] })
      expect(await front.test(object, 'alarm-at')).toBe(alarmAt)
    })
  })
})
