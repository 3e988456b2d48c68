import { memoryStore } from 'sluice'
import { failingStore, fakeClock } from 'sluice/testing'
import { describe, expect, test } from 'vitest'
import { type PolicySpec, readPolicy } from '../policies/policy.ts'
import { PolicyBook } from '../policies/policy-book.ts'
import { Stats } from '../stats/stats.ts'
import { type CheckResult, Decider } from './decider.ts'
import { LimiterMaker } from './limiter-maker.ts'
import { MOST_SET_RULES, MOST_SETS, PolicySets } from './policy-sets.ts'
import { StoreHealth } from './store-health.ts'

const facts = { clientId: 'ada', route: '/a', attributes: { org: 'acme' }, cost: 1 }

function onFailingStore(then: 'throw' | 'local', ...specs: PolicySpec[]) {
  const time = fakeClock()
  const store = failingStore(time)
  const book = new PolicyBook(() => time.now())
  const put = (spec: PolicySpec) => book.put(readPolicy(spec, 'api'))
  specs.forEach(put)
  const stats = new Stats(() => time.now())
  const decider = new Decider({ store, failure: { then }, fallbackKeys: 100, mostHolds: 9, policies: book, stats })
  return { time, store, put, decider }
}

describe('a policy that changes while the store is asked', () => {
  const own: PolicySpec = { name: 'own', client: 'ada', rules: '9/minute' }
  const org: PolicySpec = { name: 'org', applies: 'always', per: 'org', rules: '9/minute' }

  test('fails no check: the policies in shadow mode are asked after the enforced ones', async () => {
    const { store, put, decider } = onFailingStore('throw', own, { ...org, mode: 'shadow' })
    store.plan = 'stall'
    const first = decider.check(facts)
    put({ ...own, rules: '8/minute' })
    const second = decider.check(facts)
    store.plan = 'answer'
    store.release()
    expect(await first).toMatchObject({ allowed: true, decision: { limit: 9 } })
    expect(await second).toMatchObject({ allowed: true, decision: { limit: 8, remaining: 6 } })
  })

  test('fails no read of usage', async () => {
    const { store, put, decider } = onFailingStore('throw', own, org)
    store.plan = 'stall'
    const first = decider.usage(facts)
    put({ ...own, rules: '8/minute' })
    const second = decider.usage(facts)
    store.plan = 'answer'
    store.release()
    expect(await first).toMatchObject({ allowed: true, decision: { limit: 9 } })
    expect(await second).toMatchObject({ allowed: true, decision: { limit: 8 } })
  })

  test('leaves a hold of the fallback open, which can be settled', async () => {
    const { store, put, decider } = onFailingStore('local', own, org)
    store.plan = 'lose-call'
    const { hold } = await decider.holds.reserve({ ...facts, hold: 5 })
    expect(hold?.granted).toEqual({ 'rule-1': 5, 'org/rule-1': 5 })
    put({ ...own, rules: '8/minute' })
    await decider.usage(facts)
    expect(await decider.holds.settle(hold as NonNullable<typeof hold>, 2)).toMatchObject({ used: { 'rule-1': 2 } })
  })
})

describe('the cache of sets, at its bound', () => {
  /** Layers that each apply to requests with an attribute of its own, so that requests choose the set by their attributes. */
  function layered(rules: string, count = 16) {
    const time = fakeClock()
    const book = new PolicyBook(() => time.now())
    for (let i = 0; i < count; i++) {
      book.put(readPolicy({ name: `l${i}`, applies: 'always', where: { [`a${i}`]: '*' }, per: [`a${i}`], rules }, 'api'))
    }
    const store = memoryStore({ clock: time })
    const options = { store, failure: {}, fallbackKeys: 100, mostHolds: 9 }
    return { book, sets: new PolicySets(new LimiterMaker({ ...options, health: new StoreHealth() })), options, time }
  }

  /** The attributes of the n-th combination: an attribute for each bit. */
  function attributesOf(n: number): Record<string, string> {
    const attributes: Record<string, string> = {}
    for (let bit = 0; n >> bit > 0; bit++) if ((n >> bit) & 1) attributes[`a${bit}`] = 'x'
    return attributes
  }

  test('has at most so many rules, whatever attributes requests have', () => {
    const { book, sets } = layered('5/minute; 6/hour; 7/day; 8/week')
    const setOf = (n: number) => sets.setFor(book.find('c', '/'), book.layersFor('c', '/', attributesOf(n)))
    const frequent = new Set<object>()
    for (let n = 1; n <= 2500; n++) {
      setOf(n)
      frequent.add(setOf(0b1000_0000_0000_0000))
      if (sets.ruleCount > MOST_SET_RULES) expect.fail(`${sets.size} sets, ${sets.ruleCount} rules`)
    }
    expect(sets.ruleCount).toBeGreaterThan(MOST_SET_RULES - 64)
    // A set that is in use is made anew once for each time that all others have changed.
    expect(frequent.size).toBeLessThan(4)
  })

  test('has at most so many sets, whatever attributes requests have', () => {
    const { book, sets } = layered('5/minute', 0)
    for (let i = 0; i < 150; i++) {
      book.put(readPolicy({ name: `no${i}`, applies: 'always', where: { [`a${i}`]: '*' }, mode: 'deny' }, 'api'))
    }
    const setOf = (a: number, b: number) =>
      sets.setFor(book.find('c', '/'), book.layersFor('c', '/', { [`a${a}`]: 'x', [`a${b}`]: 'y' }))
    let asked = 0
    for (let a = 0; a < 150; a++) {
      for (let b = 0; b < a; b++) {
        asked += 1
        setOf(a, b)
        if (sets.size !== Math.min(asked, MOST_SETS)) expect.fail(`${asked} combinations, ${sets.size} sets`)
      }
    }
    expect(asked).toBeGreaterThan(MOST_SETS)
    expect(setOf(149, 148)).toBe(setOf(149, 148))
    expect(setOf(1, 0).block?.name).toBe('no0')
  })

  test('one set with more rules than fit is used, and dropped by the next', () => {
    const { book, options } = layered('5/minute; 50/hour', 4)
    const sets = new PolicySets(new LimiterMaker({ ...options, health: new StoreHealth() }), { mostSets: 3, mostRules: 8 })
    const setOf = (n: number) => sets.setFor(book.find('c', '/'), book.layersFor('c', '/', attributesOf(n)))
    expect(setOf(0b1111).ruleCount).toBe(9)
    expect([sets.size, sets.ruleCount]).toEqual([1, 9])
    const sizes = [0, 1, 2, 4, 8].map((n) => {
      setOf(n)
      return [sets.size, sets.ruleCount]
    })
    expect(sizes).toEqual([
      [1, 1],
      [2, 4],
      [3, 7],
      [2, 6],
      [2, 6],
    ])
  })

  test('counts stay exact for every combination, however often its set was dropped', () => {
    const { book, options, time } = layered('1000000/hour')
    const decider = new Decider({ ...options, policies: book, stats: new Stats(() => time.now()) })
    const used = new Array<number>(16).fill(0)
    const hit = (clientId: string, n: number) =>
      decider.check({ clientId, route: '/', attributes: attributesOf(n), cost: 1 }) as CheckResult
    for (let i = 0; i < 4000; i++) {
      const n = (i * 40_503) & 0xffff
      for (let bit = 0; bit < 16; bit++) used[bit] += (n >> bit) & 1
      expect(hit(`c${i}`, n).allowed).toBe(true)
    }
    for (let bit = 0; bit < 16; bit++) {
      const { decision } = hit('ada', 1 << bit)
      const { limit, remaining } = decision.rules.find(({ name }) => name === `l${bit}/rule-1`) as (typeof decision.rules)[number]
      expect(limit - remaining).toBe(used[bit] + 1)
    }
  })
})
