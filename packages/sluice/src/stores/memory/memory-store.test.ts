import { beforeAll, describe, expect, expectTypeOf, test, vi } from 'vitest'
import { roundsOf } from '../../../../../test/rounds.ts'
import { longestRun } from '../../../test/longest-run.ts'
import { parseRule } from '../../algorithms/parse-rule.ts'
import { hasLogBytes, lackingLogBytes } from '../../core/log-budget.ts'
import {
  type Clock,
  createLimiter,
  type Decision,
  dumpStore,
  fixedWindow,
  type Limiter,
  type MemoryStore,
  memoryStore,
  type Rule,
  type RuleLog,
  restoreStore,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../index.ts'
import { definitionStore, everyRule, exampleRule, fakeClock, storeSuite } from '../../testing/index.ts'
import { seededRandom } from '../../testing/random.ts'
import { walk } from '../../testing/walk.ts'
import type { MemoryState } from './memory-store.ts'

/** Number of rows read so far by searches, sweeps and resizes. */
function rowsLookedAt({ tables }: MemoryState): number {
  return tables.reduce((looked, table) => looked + table.looked, 0)
}

/** The longest run of taken rows: the most rows that a lookup may have to read. */
function longestRunIn({ tables }: MemoryState): number {
  return Math.max(...tables.map(({ rows }) => longestRun(rows)))
}

storeSuite('memory', (clock) => memoryStore({ clock }), {
  steps: roundsOf({ usual: 2000, long: 20_000 }),
})

describe('answers', () => {
  test('are values, also in the types', () => {
    const limiter = createLimiter({ rules: parseRule('5/second') })
    expectTypeOf(limiter.hit('ada')).toEqualTypeOf<Decision>()
    expectTypeOf(limiter.get('ada')).toEqualTypeOf<number>()
    expect(limiter.hit('ada').allowed).toBe(true)
  })

  test('take their time from any clock', () => {
    let ms = 1000
    const limiter = createLimiter({ rules: parseRule('1/second'), store: memoryStore({ clock: { now: () => ms } }) })
    expect([limiter.hit('ada').allowed, limiter.hit('ada').allowed]).toEqual([true, false])
    ms = 2000
    expect(limiter.hit('ada').allowed).toBe(true)
  })

  test('a clock with a fraction is read as whole milliseconds, one that answers nonsense is refused', () => {
    let ms: unknown = 1000.9
    const limiter = createLimiter({ rules: parseRule('1/second'), store: memoryStore({ clock: { now: () => ms as number } }) })
    limiter.hit('ada')
    expect(limiter.expiresAt('ada')).toBe(2000)
    for (ms of [Number.NaN, -1, Number.POSITIVE_INFINITY, undefined]) {
      expect(() => limiter.hit('ada')).toThrow(expect.objectContaining({ code: 'ERR_CLOCK' }))
    }
  })

  test('a clock that itself calls the limiter does not change whom a hit is charged to', () => {
    let isCalling = false
    const clock = {
      now() {
        if (isCalling) {
          isCalling = false
          limiter.hit('other')
        }
        return 0
      },
    }
    const rules = ['one', 'two'].map((name) => fixedWindow({ limit: 9, window: '1m', name }))
    const limiter: Limiter<'sync'> = createLimiter({ rules, store: memoryStore({ clock }) })
    isCalling = true
    limiter.hit('ada', { cost: 3 })
    expect([limiter.get('ada'), limiter.get('other')]).toEqual([3, 1])
  })

  test('a decision is a value of its own, which later hits do not change', () => {
    const limiter = createLimiter({ rules: parseRule('10/minute') })
    const first = limiter.hit('ada')
    for (let i = 0; i < 5; i++) limiter.hit('ada')
    expect(first.remaining).toBe(9)
    expect(first.rules[0].remaining).toBe(9)
  })
})

describe('limiters on one store', () => {
  test('share what rules of one algorithm and name have counted', () => {
    const store = memoryStore()
    const make = (limit: number, name: string) => createLimiter({ rules: fixedWindow({ limit, window: '1m', name }), store })
    make(5, 'daily').hit('ada', { cost: 3 })
    expect(make(10, 'daily').get('ada')).toBe(3)
    expect(make(5, 'other').get('ada')).toBe(0)
  })

  test('do not mix rules of different algorithms, even under one name', () => {
    const store = memoryStore()
    const name = 'same'
    createLimiter({ rules: slidingWindow({ limit: 5, window: '1m', name }), store }).hit('ada', { cost: 4 })
    expect(createLimiter({ rules: tokenBucket({ capacity: 5, refill: 1, every: '1m', name }), store }).get('ada')).toBe(0)
  })

  test('a key that spells out a rule is just a key', () => {
    const store = memoryStore()
    const a = createLimiter({ rules: fixedWindow({ limit: 5, window: '1m', name: 'a' }), store })
    const b = createLimiter({ rules: fixedWindow({ limit: 5, window: '1m', name: 'b' }), store })
    a.hit('fixed-window\0a')
    expect(b.get('fixed-window\0b')).toBe(0)
  })
})

describe('many keys', () => {
  test('a walk over one key stays exact while a hundred thousand others come and go around it', async () => {
    const random = seededRandom()
    const clock = fakeClock()
    const store = memoryStore({ clock })
    const rules = [exampleRule('fixed-window'), exampleRule('sliding-log'), exampleRule('token-bucket')]
    const limiter = createLimiter({ rules, store })
    const defined = createLimiter({ rules, store: definitionStore(clock) })
    for (let round = 0; round < 100; round++) {
      for (let i = 0; i < 1000; i++) limiter.hit(`other:${round}:${i}`)
      // A growing table removes ended states. If the clock stepped back, they would count again in the definition, and nowhere else.
      await walk({ tested: limiter, defined, clock, random, steps: 50, isForward: true })
    }
  })

  describe.each([
    ['a fixed window', fixedWindow({ limit: 100, window: '1h' }), 41],
    ['a token bucket', tokenBucket({ capacity: 100, refill: 7, every: '1h' }), 54],
    ['a sliding window', slidingWindow({ limit: 100, window: '1h' }), 67],
  ])('a million keys of %s', (name, rules, bytes) => {
    const costOf = (i: number): number => 1 + (i % 97)
    let store: MemoryStore
    let limiter: Limiter<'sync'>
    beforeAll(() => {
      store = memoryStore()
      limiter = createLimiter({ rules, store })
      for (let i = 0; i < 1_000_000; i++) limiter.inc(`user:${i}`, costOf(i))
    })

    test(`take ${bytes} bytes each`, () => {
      expect(store.size).toBe(1_000_000)
      expect(Math.ceil(store.bytes / 1_000_000)).toBe(bytes)
    })

    test.runIf(name === 'a fixed window')('each have their own count', () => {
      let wrong = 0
      for (let i = 0; i < 1_000_000; i++) if (limiter.get(`user:${i}`) !== costOf(i)) wrong += 1
      expect(wrong).toBe(0)
    })
  })
})

describe('the bound', () => {
  test('holds, whatever the number of keys and rules', () => {
    const store = memoryStore({ maxKeys: 1000 })
    const limiter = createLimiter({
      rules: [parseRule('5/minute'), parseRule('sliding-log 5/minute'), parseRule('gcra 5/minute')],
      store,
    })
    for (let i = 0; i < 5000; i++) {
      limiter.hit(`k${i}`)
      if (store.size > 1000) expect.fail(`size ${store.size} after ${i} keys`)
    }
    expect(store.size).toBeGreaterThan(900)
    expect(store.evictions).toBe(3 * 5000 - store.size)
  })

  test('states that have ended are dropped without counting as evictions', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock, maxKeys: 10 })
    const limiter = createLimiter({ rules: parseRule('5/second'), store })
    for (let i = 0; i < 10; i++) limiter.hit(`k${i}`)
    clock.advance(1000)
    for (let i = 10; i < 20; i++) limiter.hit(`k${i}`)
    expect(store.evictions).toBe(0)
    limiter.hit('k20')
    expect(store.evictions).toBe(1)
  })

  for (const rule of everyRule().filter(({ countsDenied }) => !countsDenied)) {
    test(`denied keys stay denied while others flood the store, cheap, expensive and denied ones: ${rule.name}`, () => {
      const clock = fakeClock()
      const maxKeys = 2000
      const { limit } = rule
      for (const costs of [[1], [Math.ceil(limit / 2)], [limit], [limit, 1], [1, limit], [Math.max(1, limit - 1), limit]]) {
        const limiter = createLimiter({ rules: rule, store: memoryStore({ clock, maxKeys }) })
        const denied = Array.from({ length: 100 }, (_, i) => `denied:${i}`)
        for (const key of denied) limiter.hit(key, { cost: limit })
        for (let i = 0; i < 4 * maxKeys; i++) for (const cost of costs) limiter.hit(`flood:${i}`, { cost })
        const freed = denied.filter((key) => limiter.peek(key).allowed)
        expect(freed, `junk that costs ${costs.join(' and ')}`).toEqual([])
      }
    })
  }

  test('keys at 99 of 100 are not forgotten for keys that used less, nor for ones that used as much later', () => {
    const rules = fixedWindow({ limit: 100, window: '1h' })
    for (const costs of [[1], [98], [99], [1, 100], [50, 100], [97, 100]]) {
      const limiter = createLimiter({ rules, store: memoryStore({ maxKeys: 5000 }) })
      for (let i = 0; i < 500; i++) limiter.hit(`k${i}`, { cost: 99 })
      for (let i = 0; i < 20_000; i++) for (const cost of costs) limiter.hit(`flood:${i}`, { cost })
      let kept = 0
      for (let i = 0; i < 500; i++) if (limiter.get(`k${i}`) === 99) kept += 1
      expect(kept, `junk that costs ${costs.join(' and ')}`).toBe(500)
    }
  })

  test('denied keys stay denied, however long denied keys of several rules flood the store', () => {
    for (const count of [1, 2, 5]) {
      const store = memoryStore({ maxKeys: 2000 })
      const victims = createLimiter({ rules: fixedWindow({ limit: 100, window: '1h', name: 'victim' }), store })
      const rules = Array.from({ length: count }, (_, i) => fixedWindow({ limit: 100, window: '1h', name: `junk ${i}` }))
      const junk = createLimiter({ rules, store })
      for (let i = 0; i < 100; i++) victims.hit(`k${i}`, { cost: 100 })
      for (let i = 0; i < (20 * 2000) / count; i++) junk.hit(`flood:${i}`, { cost: 100 })
      let freed = 0
      for (let i = 0; i < 100; i++) if (victims.peek(`k${i}`).allowed) freed += 1
      expect(freed, `${count} rules`).toBeLessThanOrEqual(1)
    }
  })

  describe('denied keys stay denied during a flood, though bytes allow far fewer keys than maxKeys', () => {
    const HOUR = 3_600_000

    /** Returns the number of 100 keys that are still denied after a flood of `keys` others that use up their limit. */
    function stillDenied(
      denied: Limiter<'sync'>,
      flood: Limiter<'sync'>,
      keys: number,
      use: (l: Limiter<'sync'>, key: string) => void,
    ) {
      for (let i = 0; i < 100; i++) use(denied, `denied:${i}`)
      for (let i = 0; i < keys; i++) use(flood, `flood:${i}`)
      let count = 0
      for (let i = 0; i < 100; i++) if (!denied.peek(`denied:${i}`).allowed) count += 1
      return count
    }

    const useAtOnce = (limiter: Limiter<'sync'>, key: string): void => {
      limiter.hit(key, { cost: 2 })
    }

    test('a fixed window', () => {
      const limiter = createLimiter({ rules: fixedWindow({ limit: 2, window: HOUR }), store: memoryStore({ maxBytes: 2 ** 22 }) })
      expect(stillDenied(limiter, limiter, 300_000, useAtOnce)).toBe(100)
    })

    test.for([
      { others: 0, maxBytes: 384 * 20_000 },
      { others: 40_000, maxBytes: 2 ** 23 },
    ])('sliding logs beside $others states of another rule', ({ others, maxBytes }) => {
      const clock = fakeClock()
      const store = memoryStore({ clock, maxBytes })
      const other = createLimiter({ rules: fixedWindow({ limit: 2, window: HOUR }), store })
      for (let i = 0; i < others; i++) other.hit(`other:${i}`)
      const limiter = createLimiter({ rules: slidingLog({ limit: 100, window: 24 * HOUR }), store })
      const use = (l: Limiter<'sync'>, key: string): void => {
        for (let i = 0; i < 100; i++) {
          l.hit(key)
          clock.advance(1)
        }
      }
      expect(stillDenied(limiter, limiter, 4000, use)).toBe(100)
      expect(store.size - others).toBeLessThan(3000)
    })

    test('states of a rule without new keys, while the store is full', () => {
      const store = memoryStore({ maxKeys: 2000 })
      const denied = createLimiter({ rules: fixedWindow({ limit: 2, window: HOUR }), store })
      const flood = createLimiter({ rules: tokenBucket({ capacity: 2, refill: 1, every: HOUR }), store })
      expect(stillDenied(denied, flood, 40_000, useAtOnce)).toBe(100)
    })
  })

  test('a store of denied keys gives up few of them for a flood of cheap ones', () => {
    const rules = fixedWindow({ limit: 5, window: '1h' })
    const limiter = createLimiter({ rules, store: memoryStore({ maxKeys: 5000 }) })
    for (let i = 0; i < 5000; i++) limiter.hit(`k${i}`, { cost: 5 })
    for (let i = 0; i < 50_000; i++) limiter.hit(`flood:${i}`)
    let denied = 0
    for (let i = 0; i < 5000; i++) if (!limiter.peek(`k${i}`).allowed) denied += 1
    expect(denied).toBeGreaterThan(4500)
  })

  test('expired keys make space before any live one goes', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock, maxKeys: 1000 })
    const short = createLimiter({ rules: fixedWindow({ limit: 9, window: '1s' }), store })
    const long = createLimiter({ rules: fixedWindow({ limit: 9, window: '1h' }), store })
    for (let i = 0; i < 500; i++) short.hit(`s${i}`)
    for (let i = 0; i < 500; i++) long.hit(`l${i}`)
    clock.advance(1000)
    for (let i = 0; i < 500; i++) long.hit(`new${i}`)
    for (let i = 0; i < 500; i++) expect(long.get(`l${i}`)).toBe(1)
  })

  test('keys that used least are evicted first', () => {
    const store = memoryStore({ maxKeys: 1000 })
    const limiter = createLimiter({ rules: fixedWindow({ limit: 10, window: '1h' }), store })
    for (let i = 0; i < 1000; i++) limiter.hit(`k${i}`, { cost: i < 500 ? 1 : 9 })
    for (let i = 0; i < 400; i++) limiter.hit(`new${i}`)
    let kept = 0
    for (let i = 500; i < 1000; i++) if (limiter.get(`k${i}`) === 9) kept += 1
    expect(kept).toBe(500)
  })

  test('the rows of a key are not given up for the ones it lacks', () => {
    const store = memoryStore({ maxKeys: 2 })
    const daily = fixedWindow({ limit: 9, window: '1d', name: 'daily' })
    createLimiter({ rules: daily, store }).hit('ada', { cost: 5 })
    createLimiter({ rules: daily, store }).hit('bob', { cost: 8 })
    const both = createLimiter({ rules: [daily, fixedWindow({ limit: 9, window: '1m', name: 'minute' })], store })
    expect(both.hit('ada').rules.map(({ remaining }) => remaining)).toEqual([3, 8])
  })

  test('rows of a key that have ended are not given up for the ones it lacks, and count for the bound', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock, maxKeys: 2 })
    const a = fixedWindow({ limit: 9, window: '1s', name: 'a' })
    const b = fixedWindow({ limit: 9, window: '1h', name: 'b' })
    createLimiter({ rules: a, store }).hit('ada')
    createLimiter({ rules: b, store }).hit('bob')
    clock.advance(1000)
    expect(
      createLimiter({ rules: [a, b], store })
        .hit('ada')
        .rules.map(({ remaining }) => remaining),
    ).toEqual([8, 8])
    expect(store.size).toBe(2)
  })

  test('a hit that leaves no state evicts nobody', () => {
    for (const notation of ['5/minute', '5/minute; sliding-log 5/minute', 'sliding-log 5/minute', 'gcra 5/minute']) {
      const rules = parseRule(notation)
      const store = memoryStore({ maxKeys: 4 })
      const limiter = createLimiter({ rules, store })
      for (const key of ['a', 'b', 'c', 'd']) limiter.hit(key)
      const { size } = store
      limiter.hit('new', { cost: 6 })
      if (notation !== '5/minute') limiter.set('new', 0, { rule: limiter.rules[limiter.rules.length - 1].name })
      expect(store.size).toBe(size)
    }
  })

  describe('costs a new key a bounded number of rows, over all tables together', () => {
    /** A claim moves 16 rows of each table, and further rows up to the end of a run. The longest run here is far below 300. */
    const MOST_MOVED = 300

    /** The published bound of one search: 160 rows and 1,056 more, and 16 of each of four small tables, twice. */
    const MOST_LOOKED = 160 + 1056 + 2 * 4 * 16

    const widths = ['5/hour', 'token-bucket 9/hour', 'sliding-log 9/hour'].flatMap((text) => parseRule(text))

    /** Returns the number of rows that hits of a flood read: the most of one hit, and the mean. */
    function rowsOfFlood(limiter: Limiter<'sync'>, store: MemoryState, keys: number): { most: number; mean: number } {
      let most = 0
      const start = rowsLookedAt(store)
      for (let i = 0; i < keys; i++) {
        const before = rowsLookedAt(store)
        limiter.hit(`flood:${keys}:${i}`)
        most = Math.max(most, rowsLookedAt(store) - before)
      }
      return { most, mean: (rowsLookedAt(store) - start) / keys }
    }

    for (const count of [1, 2, 3]) {
      const rules = widths.slice(0, count)
      const bound = count * (2 * MOST_LOOKED + 2 * count * MOST_MOVED)

      test(`a full store, rules of ${count} widths`, () => {
        const store = memoryStore({ maxKeys: 20_000 }) as MemoryState
        const { most, mean } = rowsOfFlood(createLimiter({ rules, store }), store, 60_000)
        expect(store.evictions).toBeGreaterThan(100_000 * (count / 3))
        expect(most).toBeLessThan(bound)
        expect(mean).toBeLessThan(count * 120)
      })

      test(`a store whose keys have all expired, rules of ${count} widths`, () => {
        const clock = fakeClock()
        const store = memoryStore({ clock, maxKeys: 20_000 }) as MemoryState
        const limiter = createLimiter({ rules, store })
        rowsOfFlood(limiter, store, 30_000)
        clock.advance(7_200_000)
        const { most, mean } = rowsOfFlood(limiter, store, 20_000)
        expect(most).toBeLessThan(bound)
        expect(mean).toBeLessThan(count * 120)
      })

      test(`a store that is full of keys of other rules, and then of these: ${count} widths`, () => {
        const store = memoryStore({ maxKeys: 20_000 }) as MemoryState
        const others = widths.map((rule) => createLimiter({ rules: rule, store }))
        for (const other of others) rowsOfFlood(other, store, 40_000)
        for (let i = 0; i < 19_990; i++) for (const other of others) other.reset(`flood:40000:${39_999 - i}`)
        const { most, mean } = rowsOfFlood(createLimiter({ rules, store }), store, 60_000)
        expect(most).toBeLessThan(bound)
        expect(mean).toBeLessThan(count * 120)
      })
    }

    test('many rules of one width, in proportion to their number', () => {
      const most = [10, 50].map((count) => {
        const store = memoryStore({ maxKeys: 20_000 }) as MemoryState
        const rules = Array.from({ length: count }, (_, i) => fixedWindow({ limit: 9, window: '1h', name: `rule ${i}` }))
        return rowsOfFlood(createLimiter({ rules, store }), store, 3000).most / count
      })
      for (const rows of most) expect(rows).toBeLessThan(2 * MOST_LOOKED + MOST_MOVED)
      expect(most[1]).toBeLessThan(3 * most[0])
    })

    test('keys that have used all of their limit', () => {
      const store = memoryStore({ maxKeys: 20_000 }) as MemoryState
      const { most, mean } = rowsOfFlood(createLimiter({ rules: parseRule('1/hour'), store }), store, 60_000)
      expect(most).toBeLessThan(2 * MOST_LOOKED + MOST_MOVED)
      expect(mean).toBeLessThan(120)
    })

    test('rows that are in use stay spread evenly, so that no look-up becomes long', () => {
      const clock = fakeClock()
      const store = memoryStore({ clock, maxKeys: 20_000 })
      const limiter = createLimiter({ rules: fixedWindow({ limit: 1000, window: '1h' }), store })
      for (let i = 0; i < 400_000; i++) limiter.hit(`k${i}`)
      expect(longestRunIn(store as MemoryState)).toBeLessThan(200)
      // As full as a table may be, and with keys that are denied.
      for (const limit of [1, 1000]) {
        const full = memoryStore({ clock, maxKeys: 91_000 })
        const flooded = createLimiter({ rules: fixedWindow({ limit, window: '1h' }), store: full })
        for (let i = 0; i < 10 * 91_000; i++) flooded.hit(`k${i}`)
        expect(longestRunIn(full as MemoryState), `a limit of ${limit}`).toBeLessThan(400)
      }
      clock.advance(7_200_000)
      for (let i = 0; i < 30_000; i++) {
        limiter.hit(`l${i}`)
        if (i % 500 === 0) expect(longestRunIn(store as MemoryState)).toBeLessThan(400)
      }
    })
  })

  test('is checked when it is set', () => {
    for (const maxKeys of [0, -1, 1.5, Number.NaN, 1e9]) {
      expect(() => memoryStore({ maxKeys })).toThrow(expect.objectContaining({ code: 'ERR_OPTION' }))
    }
    for (const maxBytes of [0, 1000, 2 ** 22 - 1, 2 ** 22 + 0.5, Number.NaN, 2 ** 41, '64MB']) {
      expect(() => memoryStore({ maxBytes: maxBytes as number })).toThrow(expect.objectContaining({ code: 'ERR_OPTION' }))
    }
    const store = memoryStore({ maxKeys: 1 })
    expect(() => createLimiter({ rules: [parseRule('1/second'), parseRule('9/minute')], store })).toThrow(
      /maxKeys must be at least 2, for the rules of one key, got 1/,
    )
  })
})

describe('what has expired', () => {
  test('clean drops it, and says how much', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock })
    const short = createLimiter({ rules: [parseRule('5/second'), parseRule('sliding-log 5/second')], store })
    const long = createLimiter({ rules: parseRule('5/hour'), store })
    for (let i = 0; i < 100; i++) short.hit(`k${i}`)
    long.hit('k')
    expect(store.size).toBe(201)
    expect(store.clean()).toBe(0)
    clock.advance(1000)
    expect(store.clean()).toBe(200)
    expect(store.size).toBe(1)
  })

  test('a hit that is denied for good leaves no row behind', () => {
    const store = memoryStore()
    const limiter = createLimiter({
      rules: [parseRule('5/second'), parseRule('sliding-log 9/second'), parseRule('token-bucket 9/second')],
      store,
    })
    expect(limiter.hit('k', { cost: 6 }).retryAfterMs).toBe(Number.POSITIVE_INFINITY)
    limiter.peek('k')
    limiter.get('k')
    limiter.refund('k')
    limiter.reset('k')
    expect(store.size).toBe(0)
  })

  describe('and the clock steps back before its end', () => {
    test.each([
      ['is gone once it was swept: the key has its whole limit again, once', true, 5],
      ['counts again while it is there', false, 0],
    ])('it %s', (_, isSwept, allowed) => {
      const clock = fakeClock()
      const store = memoryStore({ clock })
      const limiter = createLimiter({ rules: parseRule('5/second'), store })
      limiter.hit('ada', { cost: 5 })
      clock.advance(1000)
      if (isSwept) expect(store.clean()).toBe(1)
      clock.set(clock.now() - 1)
      const hits = Array.from({ length: 10 }, () => limiter.hit('ada'))
      expect(hits.filter((decision) => decision.allowed)).toHaveLength(allowed)
      expect(hits[9].retryAfterMs).toBe(isSwept ? 1000 : 1)
    })

    test('walks answer as the definition does, if both are swept at the same times', async () => {
      const random = seededRandom()
      for (let round = 0; round < roundsOf({ usual: 1, long: 100 }); round++) {
        for (const rule of everyRule()) {
          const clock = fakeClock()
          const stores = [memoryStore({ clock }), definitionStore(clock)]
          const now = (): number => {
            if (random.whole(0, 20) === 0) for (const store of stores) store.clean()
            return clock.now()
          }
          const [tested, defined] = stores.map((store) => createLimiter({ rules: rule, store }) as unknown as Limiter)
          await walk({ tested, defined, clock: { ...clock, now }, random, steps: 300 })
        }
      }
    })
  })

  test('a clock that breaks does not break the timer that sweeps', () => {
    vi.useFakeTimers()
    try {
      let ms = 1000
      const limiter = createLimiter({ rules: parseRule('5/second'), store: memoryStore({ clock: { now: () => ms } }) })
      limiter.hit('k')
      ms = Number.NaN
      expect(() => vi.advanceTimersByTime(5000)).not.toThrow()
      ms = 1500
      expect(limiter.get('k')).toBe(1)
    } finally {
      vi.useRealTimers()
    }
  })

  describe('on Cloudflare Workers, which have no background', () => {
    test.each([
      ['one rule', [exampleRule('fixed-window')]],
      [
        'rules of several widths and a log',
        [exampleRule('fixed-window'), exampleRule('token-bucket'), exampleRule('sliding-log')],
      ],
    ])('new keys sweep it, without a timer: %s', (_, rules) => {
      vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
      const setInterval = vi.spyOn(globalThis, 'setInterval')
      const clock = fakeClock()
      const store = memoryStore({ clock })
      const limiter = createLimiter({ rules, store })
      const most = 2000 * rules.length
      for (let round = 0; round < 20; round++) {
        for (let i = 0; i < 1000; i++) limiter.hit(`${round}-${i}`)
        expect(store.size).toBeLessThanOrEqual(most)
        clock.advance(3_600_000)
      }
      expect(setInterval).not.toHaveBeenCalled()
    })
  })

  test('one timer sweeps it, which keeps no process alive and ends with the last key', () => {
    vi.useFakeTimers()
    try {
      const clock = fakeClock()
      const store = memoryStore({ clock })
      const limiter = createLimiter({ rules: parseRule('5/second'), store })
      for (let i = 0; i < 1000; i++) limiter.hit(`k${i}`)
      expect(vi.getTimerCount()).toBe(1)
      clock.advance(1000)
      vi.advanceTimersByTime(120_000)
      expect(store.size).toBe(0)
      expect(vi.getTimerCount()).toBe(0)
      limiter.hit('k')
      expect(vi.getTimerCount()).toBe(1)
      store.close()
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })
})

test('a log of thousands of entries stays exact and comes back whole from its window', () => {
  const clock = fakeClock()
  const limiter = createLimiter({ rules: slidingLog({ limit: 5000, window: '10s' }), store: memoryStore({ clock }) })
  for (let i = 0; i < 5000; i++) {
    limiter.hit('k')
    clock.advance(1)
  }
  expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 5000 })
  clock.advance(5001)
  expect(limiter.get('k')).toBe(4998)
})

describe('long logs', () => {
  /** Returns a function that returns the most entries that a rule's log had to copy at once. */
  function mostCopied(rule: Rule): () => number {
    const log = rule.log as { -readonly [K in keyof RuleLog]: RuleLog[K] }
    const { move, copy } = log
    let most = 0
    log.move = (from, fromAt, ...rest) => {
      most = Math.max(most, log.end(from, fromAt) - log.first(from, fromAt))
      move(from, fromAt, ...rest)
    }
    log.copy = (from, fromAt, to, toAt, start, end) => {
      most = Math.max(most, end - start)
      copy(from, fromAt, to, toAt, start, end)
    }
    return () => most
  }

  test('that grow while others are evicted for them keep their own rows, and new logs stay within their share of the bytes', () => {
    const random = seededRandom()
    const clock = fakeClock()
    const store = memoryStore({ clock, maxBytes: 2 ** 22 }) as MemoryState
    const limit = 10_000
    const limiter = createLimiter({ rules: slidingLog({ limit, window: '1h' }), store })
    const hit = (key: string) => {
      const { remaining } = limiter.hit(key)
      const used = limiter.get(key)
      if (used !== limit - remaining) throw new Error(`the log of ${key} has ${used} units, seed ${random.seed}`)
      if (!hasLogBytes(store.budget, 0)) throw new Error(`${store.budget.logs} bytes of logs, seed ${random.seed}`)
      clock.advance(1)
    }
    // Two thirds of the bytes are taken, so that logs are evicted often. Most rows are those of keys that are hit once.
    store.budget.logs = 2 ** 21
    for (let i = 0; i < 200_000; i++) hit(i % 2 === 0 ? `long:${random.whole(0, 699)}` : `short:${i}`)
    expect(store.evictions).toBeGreaterThan(100)
    for (let i = 0; i < 5000; i++) hit(`new:${i}`)
  })

  test('are never copied at once, whatever is asked of them', () => {
    const clock = fakeClock()
    const rule = slidingLog({ limit: 1_000_000, window: '1h' })
    const most = mostCopied(rule)
    const limiter = createLimiter({ rules: rule, store: memoryStore({ clock }) })
    for (let i = 0; i < 100_000; i++) {
      limiter.hit('long')
      clock.advance(1)
    }
    expect(limiter.peek('long').remaining).toBe(900_000)
    expect(limiter.hit('long', { cost: 1_000_000 })).toMatchObject({ allowed: false, retryAfterMs: 3_599_999 })
    expect(limiter.expiresAt('long')).toBe(clock.now() - 1 + 3_600_000)
    limiter.refund('long', 50_000)
    limiter.hit('new')
    clock.advance(-60_000)
    limiter.hit('long')
    expect(limiter.get('long')).toBe(50_001)
    // A shared block of 256 entries is the longest that is copied at once.
    expect(most()).toBeLessThanOrEqual(256)
  })

  test('stay within maxBytes, with all other states, and give their memory back', () => {
    const clock = fakeClock()
    const maxBytes = 2 ** 23
    const store = memoryStore({ clock, maxBytes })
    const rules = [slidingLog({ limit: 10_000, window: '1h' }), fixedWindow({ limit: 1_000_000, window: '1h' })]
    const limiter = createLimiter({ rules, store })
    let most = 0
    for (let i = 0; i < 200_000; i++) {
      limiter.hit(i % 3 === 0 ? `long:${i % 60}` : `short:${i}`)
      if (i % 10 === 0) clock.advance(1)
      if (i % 100 === 0) most = Math.max(most, store.bytes)
    }
    expect(most).toBeGreaterThan(maxBytes / 2)
    expect(most).toBeLessThanOrEqual(maxBytes)
    expect(store.evictions).toBeGreaterThan(10_000)
    clock.advance(7_200_000)
    store.clean()
    expect(store.size).toBe(0)
    expect(store.bytes).toBeLessThan(maxBytes / 2)
  })

  test('one that grows does not free others that are denied, and does not search for ever', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock, maxBytes: 2 ** 22 }) as MemoryState
    const limiter = createLimiter({ rules: slidingLog({ limit: 100_000, window: '10h' }), store })
    for (let i = 0; i < 5000; i++) limiter.hit(`denied:${i}`, { cost: 100_000 })
    let most = 0
    for (let i = 0; i < 90_000; i++) {
      const before = rowsLookedAt(store)
      limiter.hit('long')
      most = Math.max(most, rowsLookedAt(store) - before)
      clock.advance(1)
    }
    let freed = 0
    for (let i = 0; i < 5000; i++) if (limiter.peek(`denied:${i}`).allowed) freed += 1
    expect(freed).toBe(0)
    expect(limiter.get('long')).toBe(90_000)
    expect(most).toBeLessThan(500)
  })

  test('that grow forget no key, when all together want more bytes than there are', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock, maxKeys: 20_000, maxBytes: 384 * 20_000 })
    for (const limit of [1000, 1100]) {
      const limiter = createLimiter({ rules: slidingLog({ limit, window: '24h' }), store })
      const passed = new Array<number>(200).fill(0)
      for (let i = 0; i < 1300 * 200; i++) {
        if (limiter.hit(`k${i % 200}`).allowed) passed[i % 200] += 1
        clock.advance(1)
      }
      expect(passed).toEqual(passed.map(() => limit))
    }
    expect(store.evictions).toBe(0)
  })

  test('one that finds no bytes to grow frees no key, however often it is hit', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock, maxBytes: 2 ** 22 }) as MemoryState
    const big = createLimiter({ rules: slidingLog({ limit: 100_000, window: '24h', name: 'big' }), store })
    const login = createLimiter({ rules: slidingLog({ limit: 100, window: '24h', name: 'login' }), store })
    const hitBig = (): void => {
      big.hit('big')
      clock.advance(1)
    }
    // The log has 65,536 entries, and wants to have twice as many.
    for (let i = 0; i < 70_000; i++) hitBig()
    expect(lackingLogBytes(store.budget, 2 ** 21, true)).toBeGreaterThan(0)
    let passed = 0
    for (let i = 0; i < 300; i++) {
      if (login.hit('guess').allowed) passed += 1
      hitBig()
    }
    expect(passed).toBe(100)
    // There are bytes left for new keys.
    for (let i = 0; i < 3000; i++) login.hit(`new:${i}`)
    expect(big.get('big')).toBe(70_300)
    expect(store.evictions).toBe(0)
  })

  test('few are evicted for new keys in a store that is full of larger logs', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock, maxBytes: 2 ** 22 }) as MemoryState
    const limiter = createLimiter({ rules: slidingLog({ limit: 5000, window: '24h' }), store })
    for (let i = 0; i < 150_000; i++) {
      limiter.hit(`k${i % 1500}`)
      clock.advance(1)
    }
    expect(hasLogBytes(store.budget, 2096)).toBe(false)
    const before = store.evictions
    let firstEvicted = 0
    for (let i = 0; i < 1000; i++) {
      const evicted = store.evictions
      expect(limiter.hit(`new:${i}`).remaining).toBe(4999)
      if (firstEvicted === 0) firstEvicted = store.evictions - evicted
    }
    // One evicted log has the bytes of many new ones. Some new ones may be evicted before it.
    expect(firstEvicted).toBeLessThan(4)
    let kept = 0
    for (let i = 0; i < 1500; i++) if (limiter.get(`k${i}`) === 100) kept += 1
    expect(kept).toBeGreaterThan(1450)
    expect(store.evictions - before).toBeLessThan(100)
    expect(hasLogBytes(store.budget, 0)).toBe(true)
  })

  describe('short ones in a store without bytes', () => {
    /** Returns a store that has no bytes left. Most of its states are keys that have used `cost` of 100. */
    function fullStore(clock: Clock & { advance(ms: number): void }, cost: number): MemoryState {
      const store = memoryStore({ clock, maxBytes: 2 ** 22 }) as MemoryState
      const big = createLimiter({ rules: slidingLog({ limit: 20_000, window: '24h', name: 'big' }), store })
      // They take more than half of the bytes, so that bytes are the bound, and not the rows of the table.
      for (let i = 0; i < 23_000; i++) {
        big.hit(i < 20_000 ? 'big' : 'second')
        clock.advance(1)
      }
      const small = createLimiter({ rules: slidingLog({ limit: 100, window: '24h', name: 'small' }), store })
      for (let i = 0; store.evictions === 0; i++) small.hit(`small:${i}`, { cost })
      expect(hasLogBytes(store.budget, 2000)).toBe(false)
      return store
    }

    test('grow at the cost of a few keys that have used almost nothing, and stay exact', () => {
      const clock = fakeClock()
      const store = fullStore(clock, 1)
      const rules = slidingLog({ limit: 100, window: 5000 })
      const limiter = createLimiter({ rules, store })
      const defined = createLimiter({ rules, store: definitionStore(clock) })
      let most = 0
      for (let i = 0; i < 100; i++) {
        const before = store.evictions
        expect(limiter.hit('ada')).toEqual(defined.hit('ada'))
        most = Math.max(most, store.evictions - before)
        clock.advance(1)
      }
      clock.advance(4930)
      expect(limiter.get('ada')).toBe(defined.get('ada'))
      expect(most).toBeGreaterThan(1)
      // The last growth needs 1,024 bytes, which are those of 13 logs.
      expect(most).toBeLessThanOrEqual(13)
    })

    test('become coarser if the other keys have used more', () => {
      const clock = fakeClock()
      const store = fullStore(clock, 10)
      const limiter = createLimiter({ rules: slidingLog({ limit: 500, window: 5000 }), store })
      limiter.hit('ada')
      const before = store.evictions
      for (let i = 0; i < 600; i++) {
        expect(limiter.hit('ada').allowed).toBe(i < 499)
        clock.advance(1)
      }
      expect(store.evictions).toBe(before)
      // An exact log would count 298 units now. This one has at most 128 entries, and the last of them has the other units.
      clock.advance(4600)
      expect(limiter.get('ada')).toBeGreaterThanOrEqual(500 - 128)
      clock.advance(298)
      expect(limiter.get('ada')).toBe(0)
    })
  })

  test('a key of which one log has ended is counted on all of its rules, while space is made for another', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock, maxBytes: 2 ** 22 })
    const long = slidingLog({ limit: 100_000, window: '10h', name: 'long' })
    const short = slidingLog({ limit: 5, window: '1s', name: 'short' })
    const other = createLimiter({ rules: slidingLog({ limit: 100_000, window: '10h', name: 'other' }), store })
    const both = createLimiter({ rules: [long, short], store })
    const defined = createLimiter({ rules: [long, short], store: definitionStore(clock) })
    // Fills the bytes to the last block.
    for (let i = 0; i < 40_000; i++) other.hit(`other:${i}`)
    for (let round = 0; round < 400; round++) {
      const keys = ['a', 'b', 'c']
      for (const key of keys) expect(both.hit(key).rules[1]).toEqual(defined.hit(key).rules[1])
      clock.advance(round % 3 === 0 ? 1000 : 1)
      other.hit(`more:${round}`)
    }
  })

  test('that are restored into fewer bytes stay within them', () => {
    const clock = fakeClock()
    const before = memoryStore({ clock })
    const rules = slidingLog({ limit: 1_000_000, window: '10h' })
    const limiter = createLimiter({ rules, store: before })
    for (let i = 0; i < 300_000; i++) {
      limiter.hit('long')
      clock.advance(1)
    }
    for (let i = 0; i < 1000; i++) limiter.hit(`short:${i}`)
    const store = restoreStore(dumpStore(before), { clock, maxBytes: 2 ** 22 })
    expect(store.bytes).toBeLessThanOrEqual(2 ** 22)
    expect(store.size).toBe(1000)
  })

  test('that have all ended are swept without long look-ups, while their table becomes smaller', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock }) as MemoryState
    const limiter = createLimiter({ rules: slidingLog({ limit: 10, window: '1m' }), store })
    for (let i = 0; i < 150_000; i++) limiter.hit(`k${i}`)
    clock.advance(60_000)
    for (let second = 0; second < 250; second++) {
      store.logTable.sweep(clock.now(), 1 / 60, 2 ** 16)
      expect(longestRunIn(store)).toBeLessThan(400)
    }
    expect(store.size).toBe(0)
    expect(store.logTable.rows.capacity).toBe(256)
  })

  test('that are restored while they grow stay exact', () => {
    const clock = fakeClock()
    const rules = slidingLog({ limit: 100_000, window: 5000 })
    let store = memoryStore({ clock })
    for (let i = 0; i < 9000; i++) {
      if (i % 50 === 0) store = restoreStore(dumpStore(store), { clock })
      const limiter = createLimiter({ rules, store })
      // One hit each millisecond: the window holds the last 5,000. The definition would need seconds to count them.
      expect(limiter.hit('k').remaining).toBe(100_000 - Math.min(i + 1, 5000))
      clock.advance(1)
    }
  })

  test('a flood of short ones does not free a long one that is denied', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock, maxBytes: 2 ** 22 })
    const limiter = createLimiter({ rules: slidingLog({ limit: 5000, window: '1h' }), store })
    for (let i = 0; i < 5000; i++) {
      limiter.hit('long')
      clock.advance(1)
    }
    for (let i = 0; i < 100_000; i++) limiter.hit(`short:${i}`)
    expect(store.evictions).toBeGreaterThan(50_000)
    expect(limiter.hit('long').allowed).toBe(false)
  })
})

test('nothing random is asked for before the first call, as some runtimes have it only in a request', () => {
  const random = vi.spyOn(crypto, 'getRandomValues')
  try {
    const store = memoryStore()
    const limiters = ['5/minute', '5/minute; sliding-log 5/minute'].map((text) =>
      createLimiter({ rules: parseRule(text), store }),
    )
    expect(random).not.toHaveBeenCalled()
    for (const limiter of limiters) limiter.hit('ada')
    expect(random).toHaveBeenCalledTimes(1)
    expect(limiters.map((limiter) => limiter.get('ada'))).toEqual([2, 2])
  } finally {
    random.mockRestore()
  }
})
