import { describe, expect, test } from 'vitest'
import {
  concurrency,
  createLimiter,
  dumpStore,
  fixedWindow,
  holds,
  memoryStore,
  restoreStore,
  slidingLog,
  tokenBucket,
} from '../../index.ts'
import { fakeClock } from '../../testing/index.ts'
import { prepareHolds } from './held-rows.ts'
import type { MemoryState } from './memory-store.ts'

const RULES = {
  'a fixed window': fixedWindow({ limit: 10, window: '1m' }),
  'a token bucket': tokenBucket({ capacity: 10, refill: 10, every: '1m' }),
  'a sliding log': slidingLog({ limit: 10, window: '1m' }),
  concurrency: concurrency({ limit: 10, ttl: '2m' }),
}

function holdsOf(store: object) {
  return prepareHolds(store as MemoryState).holds?.table
}

describe.each(Object.entries(RULES))('holds of %s', (_, rules) => {
  test('are dumped and restored, and end in the other process', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock })
    const limiter = createLimiter({ rules, store, holds: holds() })
    const first = limiter.reserve('ada', { hold: 3, ttl: '2m' })
    limiter.reserve('ada', { hold: 4, ttl: '1s', expired: 'release' })
    const bob = limiter.reserve('bob', { hold: 10, ttl: '2m' })
    const restored = createLimiter({ rules, store: restoreStore(dumpStore(store), { clock }), holds: holds() })
    expect([restored.get('ada'), restored.get('bob')]).toEqual([7, 10])
    clock.advance(1_000)
    expect(restored.get('ada')).toBe(3)
    restored.openHold(first.token).cancel()
    restored.openHold(bob.token).cancel()
    expect([restored.get('ada'), restored.get('bob')]).toEqual([0, 0])
  })

  test('stay when the sweep comes, until nobody needs them', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock })
    const limiter = createLimiter({ rules, store, holds: holds() })
    for (let i = 0; i < 100; i++) limiter.reserve(`k${i}`, { hold: 3, ttl: '10m', expired: 'release' })
    clock.advance(9 * 60_000)
    store.clean()
    expect(limiter.get('k7')).toBe(3)
    clock.advance(60_000)
    store.clean()
    expect([store.size, holdsOf(store)?.count]).toEqual([0, 0])
  })

  test('are bounded in number and bytes under a flood of keys, and hits go on', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock, maxKeys: 1_000 })
    const limiter = createLimiter({ rules, store, holds: holds() })
    for (let i = 0; i < 5_000; i++) expect(limiter.reserve(`k${i}`, { hold: 3, ttl: '1h' }).allowed).toBe(true)
    expect(store.size).toBeLessThanOrEqual(1_000)
    const table = holdsOf(store)
    expect(table?.count).toBeLessThanOrEqual(1_000)
    expect((table?.bytes ?? 0) / 1_000).toBeLessThanOrEqual(100)
    if (!rules.isHeld) for (let i = 0; i < 2_000; i++) expect(limiter.hit(`new${i}`).allowed).toBe(true)
  })
})

test.each([
  ['its window became longer', (when: number) => fixedWindow({ limit: 9, window: [1_000, 3_600_000][when], name: 'changed' })],
  [
    'its rate was lowered',
    (when: number) => tokenBucket({ capacity: [900, 1][when], refill: [900, 1][when], every: '1s', name: 'changed' }),
  ],
] as const)('the charge of a rule is not swept after %s while a hold was open', (_, ruleOf) => {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const [before, after] = [0, 1].map((when) => createLimiter({ rules: ruleOf(when), store, holds: holds() }))
  before.reserve('ada', { hold: 9, ttl: '1m' })
  after.hit('ada', { cost: 10 })
  const copy = restoreStore(dumpStore(store), { clock })
  clock.advance(64_000)
  for (const each of [store, copy]) {
    each.clean()
    const used = createLimiter({ rules: ruleOf(1), store: each, holds: holds() }).get('ada')
    // The fixed window keeps all of it, and a bucket has drained four tokens.
    expect(used).toBe(ruleOf(1).limit === 9 ? 9 : 5)
  }
})

test('many holds on few keys fill the table, and then reserve fails with ERR_HOLDS until some end', () => {
  const clock = fakeClock()
  const store = memoryStore({ clock, maxKeys: 100 })
  const limiter = createLimiter({ rules: fixedWindow({ limit: 1e6, window: '1m' }), store, holds: holds() })
  const reserve = (i: number) => limiter.reserve(`k${i % 10}`, { hold: 1, ttl: '1m' })
  const open = Array.from({ length: 200 }, (_, i) => reserve(i))
  expect(() => reserve(0)).toThrow(expect.objectContaining({ code: 'ERR_HOLDS' }))
  expect(holdsOf(store)?.count).toBe(200)
  open[0].cancel()
  expect(reserve(0).allowed).toBe(true)
})

test('an open hold is evicted later than keys that have used little', () => {
  const clock = fakeClock()
  const store = memoryStore({ clock, maxKeys: 1_000 })
  const limiter = createLimiter({ rules: fixedWindow({ limit: 100, window: '1h' }), store, holds: holds() })
  const kept = Array.from({ length: 100 }, (_, i) => limiter.reserve(`holder${i}`, { hold: 1, ttl: '1h' }))
  for (let i = 0; i < 5_000; i++) limiter.hit(`k${i}`)
  for (const hold of kept) hold.settle(1)
})

test('the sums of thousands of reserves and settles over many keys are right', () => {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const limiter = createLimiter({ rules: fixedWindow({ limit: 1e9, window: '1h' }), store, holds: holds() })
  const used = new Map<string, number>()
  const open: { readonly key: string; readonly hold: ReturnType<typeof limiter.reserve> }[] = []
  for (let i = 0; i < 20_000; i++) {
    const key = `k${(i * 7919) % 1_500}`
    open.push({ key, hold: limiter.reserve(key, { hold: 1 + (i % 5) }) })
    if (open.length > 700) {
      const [{ key: ended, hold }] = open.splice((i * 31) % open.length, 1)
      hold.settle(i % 7)
      used.set(ended, (used.get(ended) ?? 0) + (i % 7))
    }
  }
  for (const { hold } of open) hold.cancel()
  for (const [key, units] of used) expect(limiter.get(key), key).toBe(units)
  expect(holdsOf(store)?.count).toBe(0)
})

test('the holds of rows that have ended are dropped with them while a table grows', () => {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const limiter = createLimiter({ rules: fixedWindow({ limit: 10, window: '1m' }), store, holds: holds() })
  for (let i = 0; i < 80; i++) limiter.reserve(`before ${i}`, { hold: 1, ttl: '1s' })
  clock.advance(200_000)
  // The table grows, and does not take over rows that have ended.
  for (let i = 0; i < 100; i++) limiter.reserve(`after ${i}`, { hold: 1, ttl: '1s' })
  store.clean()
  expect(holdsOf(store)?.count).toBe(100)
})

describe.each(Object.entries(RULES))('expired holds of %s', (name, rules) => {
  test('do not count towards the bound of the store, and are charged', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock, maxKeys: 100 })
    const limiter = createLimiter({ rules, store, holds: holds() })
    for (let i = 0; i < 200; i++) limiter.reserve(`k${i % 50}`, { hold: 1, ttl: '1s' })
    const reserve = () => limiter.reserve('another', { hold: 1, ttl: '1h' })
    expect(reserve).toThrow(expect.objectContaining({ code: 'ERR_HOLDS' }))
    clock.advance(1_000)
    expect(reserve().allowed).toBe(true)
    expect(holdsOf(store)?.count).toBe(200 - 4 + 1)
    const charged = name === 'concurrency' ? 0 : 4
    for (let i = 0; i < 50; i++) expect(limiter.get(`k${i}`), `k${i}`).toBe(charged)
  })

  test('are found in a bounded number of steps', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock, maxKeys: 2_000 })
    const limiter = createLimiter({ rules, store, holds: holds() })
    for (let i = 0; i < 4_000; i++) limiter.reserve(`k${i % 1_000}`, { hold: 1, ttl: '1m' })
    const table = holdsOf(store)
    const reserve = () => limiter.reserve('another', { hold: 1 })
    for (let i = 0; i < 10; i++) {
      const before = table?.looked ?? 0
      expect(reserve).toThrow(expect.objectContaining({ code: 'ERR_HOLDS' }))
      expect((table?.looked ?? 0) - before).toBe(1024)
    }
  })
})

test('holds that a store was restored with stay until their rows are swept', () => {
  const clock = fakeClock()
  const rules = fixedWindow({ limit: 10, window: '1m' })
  const store = memoryStore({ clock, maxKeys: 10 })
  const limiter = createLimiter({ rules, store, holds: holds() })
  for (let i = 0; i < 20; i++) limiter.reserve(`k${i % 5}`, { hold: 1, ttl: '1s' })
  const copy = restoreStore(dumpStore(store), { clock, maxKeys: 10 })
  const restored = createLimiter({ rules, store: copy, holds: holds() })
  clock.advance(1_000)
  expect(() => restored.reserve('another', { hold: 1 })).toThrow(expect.objectContaining({ code: 'ERR_HOLDS' }))
  clock.advance(2 * 60_000)
  copy.clean()
  expect(restored.reserve('another', { hold: 1 }).allowed).toBe(true)
})
