// Reserves with policies in shadow mode: they hold what they would hold if they were enforced, and the hold of the caller ends them.

import { type Duration, memoryStore, type Store } from 'sluice'
import { failingStore, fakeClock } from 'sluice/testing'
import { describe, expect, test } from 'vitest'
import { roundsOf } from '../../../../test/rounds.ts'
import { seededRandom } from '../../../sluice/src/testing/random.ts'
import { type PolicySpec, readPolicy } from '../policies/policy.ts'
import { PolicyBook } from '../policies/policy-book.ts'
import { Stats } from '../stats/stats.ts'
import { Decider } from './decider.ts'
import type { OpenedHold, ReserveRequest } from './reservations.ts'

const tokens = (limit: number) => ({ algorithm: 'fixed-window', limit, window: '1h', name: 'tokens' }) as const
const ENFORCED: PolicySpec = { name: 'own', route: '/a', rules: [tokens(1000)] }
const SHADOW: PolicySpec = { name: 'trial', applies: 'always', scope: 'policy', mode: 'shadow', rules: [tokens(100)] }

type Mode = 'throw' | 'local' | 'allow'

function setUp(
  specs: readonly PolicySpec[],
  time = fakeClock(),
  store: Store = memoryStore({ clock: time }),
  then: Mode = 'throw',
) {
  const book = new PolicyBook(() => time.now())
  const put = (spec: PolicySpec) => book.put(readPolicy(spec, 'api'))
  specs.forEach(put)
  const stats = new Stats(() => time.now())
  const options = { store, failure: { then, timeoutMs: 5 }, fallbackKeys: 100, mostHolds: 100 }
  const decider = new Decider({ ...options, policies: book, stats })
  const { holds } = decider
  const reserve = (request: Partial<ReserveRequest> = {}) =>
    holds.reserve({ clientId: 'ada', route: '/a', hold: { tokens: 60 }, ...request })
  /** Units that are used or held, by label. */
  const used = async () => {
    const { rules } = await decider.usage({ clientId: 'ada', route: '/a', cost: 1 })
    return Object.fromEntries(rules.map(({ name, limit, remaining }) => [name, limit - remaining]))
  }
  const reported = (name = 'trial') => {
    const policy = book.get(name)
    return policy && stats.shadows.get(policy)
  }
  return { time, book, put, stats, decider, holds, reserve, used, reported }
}

const opened = ({ hold }: { readonly hold: OpenedHold | undefined }): OpenedHold => {
  if (hold === undefined) throw new Error('denied')
  return hold
}

describe('beside an enforced policy', () => {
  test('it is held and settled with the caller’s hold, and denies nothing', async () => {
    const { holds, reserve, used, reported, stats } = setUp([ENFORCED, SHADOW])
    const first = await reserve()
    expect(first).toMatchObject({
      allowed: true,
      isShadowDenied: false,
      policy: { name: 'own' },
      hold: { granted: { tokens: 60 } },
    })
    expect(await used()).toEqual({ tokens: 60, 'trial/tokens': 60 })
    const second = await reserve()
    expect(second).toMatchObject({ allowed: true, isShadowDenied: true, hold: { granted: { tokens: 60 } } })
    expect(await used()).toEqual({ tokens: 120, 'trial/tokens': 60 })
    expect(reported()).toMatchObject({ checks: 2, denied: 1 })
    expect(stats.total.totals()).toMatchObject({ allowed: 1, shadow_denied: 1, errors: 0 })
    expect(await holds.settle(opened(first), { tokens: 5 })).toMatchObject({ used: { tokens: 5 } })
    expect(await used()).toEqual({ tokens: 65, 'trial/tokens': 5 })
    await holds.cancel(opened(second))
    expect(await used()).toEqual({ tokens: 5, 'trial/tokens': 5 })
    await expect(holds.settle(opened(first), undefined)).rejects.toMatchObject({ code: 'ERR_HOLD' })
    expect(await used()).toEqual({ tokens: 5, 'trial/tokens': 5 })
    expect(holds.open).toBe(0)
  })

  test('a cancel frees it, an extend extends it, and without an end it expires with the caller’s hold', async () => {
    const { time, holds, reserve, used } = setUp([ENFORCED, SHADOW])
    await holds.cancel(opened(await reserve()))
    expect(await used()).toEqual({ tokens: 0, 'trial/tokens': 0 })
    const hold = opened(await reserve({ ttl: '10s', expired: 'release' }))
    await holds.extend(hold, '30s')
    time.advance(29_999)
    expect(await used()).toEqual({ tokens: 60, 'trial/tokens': 60 })
    time.advance(1)
    expect(await used()).toEqual({ tokens: 0, 'trial/tokens': 0 })
  })

  test('it lasts as long as the caller’s hold, whatever its own rules say', async () => {
    const places = (ttl: Duration) => ({ algorithm: 'concurrency', limit: 5, ttl, name: 'places' }) as const
    const { time, reserve, used } = setUp([
      { ...ENFORCED, rules: [places('5m')] },
      { ...SHADOW, rules: [places('10s')] },
    ])
    await reserve({ hold: 1 })
    time.advance(299_999)
    expect(await used()).toEqual({ places: 1, 'trial/places': 1 })
    time.advance(1)
    expect(await used()).toEqual({ places: 0, 'trial/places': 0 })
  })

  test('a denial of the enforced policies asks it for nothing', async () => {
    const { reserve, used, reported } = setUp([{ ...ENFORCED, rules: [tokens(10)] }, SHADOW])
    expect(await reserve()).toMatchObject({ allowed: false, hold: undefined })
    expect(await used()).toEqual({ tokens: 0, 'trial/tokens': 0 })
    expect(reported()).toBeUndefined()
  })

  test('rules that are not held are charged, as they would be', async () => {
    const requests = { algorithm: 'fixed-window', limit: 2, window: '1h', name: 'requests' } as const
    const { holds, reserve, used, reported } = setUp([ENFORCED, { ...SHADOW, rules: [requests] }])
    const hold = opened(await reserve())
    expect(await used()).toEqual({ tokens: 60, 'trial/requests': 1 })
    await holds.cancel(hold)
    expect(await used()).toEqual({ tokens: 0, 'trial/requests': 1 })
    await reserve()
    expect(await reserve()).toMatchObject({ allowed: true, isShadowDenied: true })
    await reserve({ cost: { requests: 0 } })
    expect(reported()).toMatchObject({ checks: 3, denied: 1 })
  })

  test('a caller may name its rules before it is enforced, and a name that no policy has is refused', async () => {
    const money = { algorithm: 'fixed-window', limit: 50, window: '1h', name: 'cents' } as const
    const { holds, reserve, used } = setUp([ENFORCED, { ...SHADOW, rules: [money] }])
    const hold = opened(await reserve({ hold: { tokens: 60, cents: 7 } }))
    expect(hold.granted).toEqual({ tokens: 60 })
    expect(await used()).toEqual({ tokens: 60, 'trial/cents': 7 })
    expect(await holds.settle(hold, { tokens: 1, cents: 3 })).toMatchObject({ used: { tokens: 1 } })
    expect(await used()).toEqual({ tokens: 1, 'trial/cents': 3 })
    await expect(reserve({ hold: { tokens: 1, words: 2 } })).rejects.toMatchObject({ code: 'ERR_RULE_NAME' })
    const other = opened(await reserve({ hold: { tokens: 4 } }))
    await expect(holds.settle(other, { words: 1 })).rejects.toMatchObject({ code: 'ERR_RULE_NAME' })
    expect(await used()).toEqual({ tokens: 5, 'trial/cents': 4 })
    expect(await holds.settle(other, { tokens: 2 })).toMatchObject({ used: { tokens: 2 } })
  })

  test('a hold is ended although the policy was enforced or deleted meanwhile', async () => {
    const { put, book, holds, reserve, used } = setUp([ENFORCED, SHADOW])
    const [one, two] = [opened(await reserve({ hold: { tokens: 10 } })), opened(await reserve({ hold: { tokens: 20 } }))]
    put({ ...SHADOW, mode: 'enforce' })
    expect(await used()).toEqual({ tokens: 30, 'trial/tokens': 30 })
    await holds.settle(one, { tokens: 1 })
    expect(await used()).toEqual({ tokens: 21, 'trial/tokens': 21 })
    book.delete('trial')
    await holds.settle(two, { tokens: 2 })
    expect(await used()).toEqual({ tokens: 3 })
  })

  test('a policy whose limit is 0 would deny, and holds nothing', async () => {
    const { reserve, reported } = setUp([ENFORCED, { ...SHADOW, rules: '0/minute' }])
    expect(await reserve()).toMatchObject({ allowed: true, isShadowDenied: true, hold: { granted: { tokens: 60 } } })
    expect(reported()).toMatchObject({ checks: 1, denied: 1 })
  })

  test('many of them with long names make no token too long: those beyond a bound are not followed, and hold nothing', async () => {
    const rules = Array.from({ length: 16 }, (_, i) => ({ ...tokens(100), name: `rule-${i}`.padEnd(64, 'x') }))
    const names = Array.from({ length: 16 }, (_, i) => `p${i}`.padEnd(64, 'y'))
    const { holds, reserve, used } = setUp([ENFORCED, ...names.map((name) => ({ ...SHADOW, name, rules }))])
    const hold = opened(await reserve({ hold: 5 }))
    expect(hold.held.length).toBeLessThan(20_000)
    const held = Object.values(await used())
    expect(held.filter((units) => units === 5).length).toBeGreaterThan(16)
    expect(held.filter((units) => units === 0).length).toBeGreaterThan(16)
    await holds.settle(hold, 0)
    expect(new Set(Object.values(await used()))).toEqual(new Set([0]))
  })
})

describe('if the store fails', () => {
  test('for its keys, the reserve goes on, and an end as well', async () => {
    const time = fakeClock()
    const store = failingStore(time)
    const { holds, reserve, stats } = setUp([ENFORCED, SHADOW], time, store)
    const first = opened(await reserve())
    const isShadow = (key: string) => key.includes('trial')
    store.plan = ({ call }) => (call?.charges.some(({ key }) => isShadow(key)) ? 'fatal' : 'answer')
    expect(await reserve()).toMatchObject({ allowed: true, isShadowDenied: false, hold: { granted: { tokens: 60 } } })
    expect(stats.statsOf('trial').totals()).toMatchObject({ allowed: 1, errors: 1 })
    expect(stats.total.totals()).toMatchObject({ errors: 0 })
    expect(await holds.settle(first, { tokens: 1 })).toMatchObject({ used: { tokens: 1 } })
  })

  test('the fallback holds both, and this instance ends both', async () => {
    const time = fakeClock()
    const store = failingStore(time)
    store.plan = 'fatal'
    const { holds, reserve, used } = setUp([ENFORCED, SHADOW], time, store, 'local')
    const hold = opened(await reserve())
    expect(await used()).toEqual({ tokens: 60, 'trial/tokens': 60 })
    await holds.settle(hold, { tokens: 4 })
    expect(await used()).toEqual({ tokens: 4, 'trial/tokens': 4 })
  })

  test('and everything is allowed, nothing is held and nothing is reported', async () => {
    const time = fakeClock()
    const store = failingStore(time)
    store.plan = 'fatal'
    const { reserve, reported } = setUp([ENFORCED, SHADOW], time, store, 'allow')
    expect(await reserve()).toMatchObject({ allowed: true, isShadowDenied: false, hold: { held: '', granted: {} } })
    expect(reported()).toBeUndefined()
  })
})

describe('without an enforced policy', () => {
  test('each is decided by itself, and the first that holds something is the caller’s hold', async () => {
    const { holds, reserve, used, reported } = setUp([{ ...ENFORCED, mode: 'shadow', rules: [tokens(70)] }, SHADOW])
    const one = await reserve()
    expect(one).toMatchObject({ allowed: true, isShadowDenied: false, hold: { granted: { tokens: 60 } } })
    const two = await reserve({ hold: { tokens: 30 } })
    expect(two).toMatchObject({ allowed: true, isShadowDenied: true, hold: { granted: { 'trial/tokens': 30 } } })
    expect(await used()).toEqual({ tokens: 60, 'trial/tokens': 90 })
    expect([reported('own')?.denied, reported()?.denied]).toEqual([1, 0])
    await holds.settle(opened(one), { tokens: 2 })
    await holds.cancel(opened(two))
    expect(await used()).toEqual({ tokens: 2, 'trial/tokens': 2 })
  })
})

test('at random: a policy in shadow mode counts and holds what it would if it alone were enforced', async () => {
  const seen = { allowed: 0, denied: 0 }
  for (let round = 0; round < roundsOf({ usual: 20, long: 500 }); round++) {
    const random = seededRandom()
    const time = fakeClock()
    const rules: PolicySpec['rules'] = [
      random.pick([tokens(100), { algorithm: 'token-bucket', capacity: 100, refill: 50, every: '1m', name: 'tokens' } as const]),
      { algorithm: 'concurrency', limit: 3, ttl: '1m', name: 'places' },
    ]
    const service = setUp(
      [
        { ...ENFORCED, rules: [tokens(1_000_000)] },
        { ...SHADOW, rules },
      ],
      time,
    )
    const alone = setUp([{ ...SHADOW, mode: 'enforce', rules }], time)
    const open: { readonly here: OpenedHold; readonly there: OpenedHold | undefined }[] = []
    for (let step = 0; step < 60; step++) {
      const action = random.pick(['reserve', 'reserve', 'settle', 'cancel', 'extend', 'wait'] as const)
      const at = open.length === 0 ? undefined : random.whole(0, open.length - 1)
      if (action === 'wait') time.advance(random.pick([1, 1000, 20_000]))
      else if (action === 'reserve') {
        const hold = { tokens: random.whole(1, 60) }
        const atLeast = random.pick([undefined, { tokens: 1 }])
        const request = { hold, ...(atLeast && { atLeast }), ttl: random.pick(['5s', '1m'] as const) }
        const [here, there] = [await service.reserve(request), await alone.reserve(request)]
        expect(here.allowed).toBe(true)
        expect(here.isShadowDenied, `SEED=${random.seed}`).toBe(!there.allowed)
        seen[there.allowed ? 'allowed' : 'denied'] += 1
        open.push({ here: opened(here), there: there.hold })
      } else if (at !== undefined) {
        const [{ here, there }] = action === 'extend' ? [open[at]] : open.splice(at, 1)
        const used = { tokens: random.whole(0, 80) }
        for (const [{ holds }, hold] of [
          [service, here],
          [alone, there],
        ] as const) {
          if (hold === undefined) continue
          const ended =
            action === 'settle' ? holds.settle(hold, used) : action === 'cancel' ? holds.cancel(hold) : holds.extend(hold, '30s')
          // A hold may have expired.
          await ended.catch((error: { readonly code?: string }) => expect(error.code).toBe('ERR_HOLD'))
        }
      }
      const { tokens: _own, ...shadow } = await service.used()
      const { 'rule-1': _default, ...expected } = await alone.used()
      expect(shadow, `SEED=${random.seed} step ${step}`).toEqual(expected)
    }
  }
  expect(Math.min(seen.allowed, seen.denied)).toBeGreaterThan(10)
})
