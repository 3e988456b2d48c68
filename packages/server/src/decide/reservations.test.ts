import { memoryStore, type Store } from 'sluice'
import { failingStore, fakeClock } from 'sluice/testing'
import { describe, expect, test } from 'vitest'
import { type PolicySpec, readPolicy } from '../policies/policy.ts'
import { PolicyBook } from '../policies/policy-book.ts'
import { Stats } from '../stats/stats.ts'
import { Decider } from './decider.ts'
import type { ReserveResult } from './reservations.ts'

const BUDGET = {
  name: 'own',
  client: 'ada',
  rules: [
    { algorithm: 'fixed-window', limit: 100, window: '1h', name: 'tokens' },
    { algorithm: 'concurrency', limit: 2, ttl: '1m', name: 'places' },
  ],
} as PolicySpec

function instance(store: Store, then: 'local' | 'allow' | 'deny' | 'throw' = 'local', now: () => number = Date.now) {
  const policies = new PolicyBook()
  policies.put(readPolicy(BUDGET, 'api'))
  const stats = new Stats(now)
  const decider = new Decider({ store, failure: { then, timeoutMs: 5 }, fallbackKeys: 1000, mostHolds: 10, policies, stats })
  const reserve = (tokens: number) => decider.holds.reserve({ clientId: 'ada', route: '/a', hold: { tokens } })
  return { decider, stats, holds: decider.holds, reserve, policies }
}

const named = ({ hold }: ReserveResult) => {
  if (hold === undefined) throw new Error('denied')
  return hold
}

/** Never answers, so the limiter's deadline decides. */
function goneStore() {
  const store = failingStore({
    now: () => Date.now(),
    after: (ms, call) => {
      const handle = setTimeout(call, ms)
      return () => clearTimeout(handle)
    },
  })
  store.plan = 'stall'
  return store
}

describe('on a store that fails', () => {
  test('local counters hold the units, and only this instance can end the hold', async () => {
    const store = goneStore()
    const [a, b] = [instance(store), instance(store)]
    const result = await a.reserve(30)
    expect(result).toMatchObject({
      allowed: true,
      decision: { source: 'fallback' },
      hold: { granted: { tokens: 30, places: 1 } },
    })
    expect(
      (await a.decider.usage({ clientId: 'ada', route: '/a', cost: 1 })).decision.rules.map(({ remaining }) => remaining),
    ).toEqual([70, 1])
    await expect(b.holds.settle(named(result), undefined)).rejects.toMatchObject({ code: expect.stringMatching(/^ERR_/) })
    expect(await a.holds.settle(named(result), { tokens: 5 })).toMatchObject({ used: { tokens: 5, places: 1 } })
    expect(
      (await a.decider.usage({ clientId: 'ada', route: '/a', cost: 1 })).decision.rules.map(({ remaining }) => remaining),
    ).toEqual([95, 2])
    await expect(a.holds.settle(named(result), undefined)).rejects.toMatchObject({ code: expect.stringMatching(/^ERR_/) })
  })

  test('failure mode allow holds nothing, and there is nothing to end', async () => {
    const { holds, reserve } = instance(goneStore(), 'allow')
    const result = await reserve(30)
    expect(result).toMatchObject({ allowed: true, hold: { held: '', granted: {}, expiresAt: 0 } })
    expect(await holds.settle(named(result), 3)).toMatchObject({ used: {} })
    expect(await holds.extend(named(result), '1m')).toMatchObject({ expiresAt: undefined })
    expect(holds.open).toBe(0)
  })

  test('failure mode deny denies, and holds nothing', async () => {
    expect(await instance(goneStore(), 'deny').reserve(30)).toMatchObject({ allowed: false, hold: undefined })
  })

  test('without a fallback the reserve fails, and is counted as an error', async () => {
    const { stats, reserve } = instance(goneStore(), 'throw')
    await expect(reserve(30)).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
    expect(stats.total.totals()).toMatchObject({ allowed: 0, errors: 1 })
  })
})

test('a hold leaves the list when it expires, and is counted', async () => {
  const time = fakeClock()
  const { holds, stats, reserve } = instance(memoryStore({ clock: time }), 'throw', () => time.now())
  await reserve(30)
  expect(holds.open).toBe(1)
  time.advance(60_000)
  expect(holds.open).toBe(0)
  expect(stats.statsOf('own').holds.of('expired')).toBe(1)
})

test('a request is refused before anything is held', async () => {
  const store = memoryStore({ clock: fakeClock() })
  const { holds, stats } = instance(store)
  await expect(holds.reserve({ clientId: 'ada', route: '/a', hold: { words: 1 } })).rejects.toMatchObject({
    code: 'ERR_RULE_NAME',
  })
  expect(store.size).toBe(0)
  expect(stats.total.totals()).toMatchObject({ allowed: 0, denied: 0, errors: 0 })
})
