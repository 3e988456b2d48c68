import { memoryStore } from 'sluice'
import { failingStore, fakeClock } from 'sluice/testing'
import { describe, expect, test } from 'vitest'
import { type PolicyMode, type PolicySpec, readPolicy } from '../policies/policy.ts'
import { PolicyBook } from '../policies/policy-book.ts'
import { REASON } from '../stats/policy-stats.ts'
import { Stats } from '../stats/stats.ts'
import { type CheckResult, Decider } from './decider.ts'

function setUp(...specs: PolicySpec[]) {
  const time = fakeClock()
  const book = new PolicyBook()
  const put = (spec: PolicySpec) => book.put(readPolicy(spec, 'api'))
  specs.forEach(put)
  const stats = new Stats(() => time.now())
  const store = memoryStore({ clock: time })
  const decider = new Decider({ store, failure: {}, fallbackKeys: 1000, mostHolds: 100, policies: book, stats })
  const check = (client = 'ada', route = '/a', cost = 1) => decider.check({ clientId: client, route, cost }) as CheckResult
  return { time, book, put, stats, store, decider, check }
}

describe('on a memory store', () => {
  test('a check is decided synchronously, without a promise', () => {
    const { decider } = setUp()
    expect(decider.check({ clientId: 'ada', route: '/a', cost: 1 })).not.toBeInstanceOf(Promise)
  })

  test('the policy is the one of the book, and its limiter is created once', () => {
    const { check, put } = setUp({ name: 'own', client: 'ada', rules: '3/minute' })
    expect(check()).toMatchObject({ policy: { name: 'own' }, allowed: true, decision: { limit: 3, remaining: 2 } })
    expect(check('bob')).toMatchObject({ policy: { name: 'default' }, decision: { limit: 100 } })
    expect(check().responder).toBe(check().responder)
    put({ name: 'own', client: 'ada', rules: '9/minute' })
    expect(check()).toMatchObject({ decision: { limit: 9, remaining: 5 } })
  })

  test('rules of another algorithm start empty, and earlier usage is found again after going back', () => {
    const { check, put } = setUp({ name: 'own', client: 'ada', rules: '10/minute' })
    check('ada', '/a', 4)
    put({ name: 'own', client: 'ada', rules: 'sliding-log 10/minute' })
    expect(check().decision.remaining).toBe(9)
    put({ name: 'own', client: 'ada', rules: '10/minute' })
    expect(check().decision.remaining).toBe(5)
  })

  test.each([
    ['enforce', [true, false], [false, false]],
    ['shadow', [true, true], [false, true]],
    ['off', [true, true], [false, false]],
  ] as [PolicyMode, boolean[], boolean[]][])('mode %s', (mode, allowed, shadowed) => {
    const { check, store } = setUp({ name: 'own', client: 'ada', rules: '1/minute', mode })
    const results = [check(), check()]
    expect(results.map((result) => result.allowed)).toEqual(allowed)
    expect(results.map((result) => result.isShadowDenied)).toEqual(shadowed)
    expect(store.size).toBe(mode === 'off' ? 0 : 1)
  })

  test('every check is counted once, under its policy and reason', () => {
    const { check, stats } = setUp(
      { name: 'own', client: 'ada', rules: '2/minute' },
      { name: 'seen', client: 'eve', rules: '1/minute', mode: 'shadow' },
      { name: 'off', client: 'off', rules: '1/minute', mode: 'off' },
    )
    for (let i = 0; i < 5; i++) check()
    check('ada', '/a', 3)
    check('eve')
    check('eve')
    check('off')
    check('bob')
    const reasons = Object.fromEntries(stats.policies().map(({ name, byReason }) => [name, [...byReason]]))
    expect(reasons).toEqual({
      own: [2, 0, 0, 3, 1, 0, 0, 0, 0],
      seen: [1, 0, 1, 0, 0, 0, 0, 0, 0],
      off: [0, 1, 0, 0, 0, 0, 0, 0, 0],
      default: [1, 0, 0, 0, 0, 0, 0, 0, 0],
    })
    expect([...stats.total.byReason]).toEqual([4, 1, 1, 3, 1, 0, 0, 0, 0])
    expect(stats.checkSeconds.counts.reduce((a, b) => a + b)).toBe(10)
  })

  test('manual changes of counters use the same counter as a check', async () => {
    const { check, decider } = setUp({ name: 'all', client: 'ada', rules: ['5/minute', '50/hour'], scope: 'policy' })
    check('ada', '/a', 2)
    expect((await decider.usage({ clientId: 'ada', route: '/b', cost: 1 })).decision.remaining).toBe(3)
    expect(await decider.refund({ clientId: 'ada', route: '/c', cost: 1 })).toMatchObject({ used: 1 })
    expect(await decider.set({ clientId: 'ada', route: '/d' }, 49, 'rule-2')).toMatchObject({ used: 49, policy: { name: 'all' } })
    expect(check('ada', '/a', 2)).toMatchObject({ allowed: false, decision: { rule: 'rule-2' } })
    await decider.reset({ clientId: 'ada', route: '/e' })
    expect(check().decision.remaining).toBe(4)
    expect(() => decider.check({ clientId: 'ada', route: '/a', cost: -1 })).toThrow(/cost/)
  })
})

describe('on a store that fails', () => {
  /** Never answers, so the limiter's deadline decides. */
  const gone = () => {
    const store = failingStore({ now: () => Date.now(), after: timer })
    store.plan = 'stall'
    return store
  }

  function timer(ms: number, call: () => void): () => void {
    const handle = setTimeout(call, ms)
    return () => clearTimeout(handle)
  }

  function decide(then: 'local' | 'allow' | 'deny' | 'throw', ...specs: PolicySpec[]) {
    const stats = new Stats()
    const policies = new PolicyBook()
    for (const spec of specs) policies.put(readPolicy(spec, 'api'))
    return {
      stats,
      decider: new Decider({
        store: gone(),
        failure: { then, timeoutMs: 5 },
        fallbackKeys: 1000,
        mostHolds: 100,
        policies,
        stats,
      }),
    }
  }

  test('local counters decide, and health and statistics report it', async () => {
    const { stats, decider } = decide('local')
    const result = await decider.check({ clientId: 'ada', route: '/a', cost: 1 })
    expect(result).toMatchObject({ allowed: true, decision: { remaining: 99, source: 'fallback' } })
    expect(stats.fallbacks).toBe(1)
    expect(decider.health).toMatchObject({ isUp: false, isBreakerOpen: false })
    for (let i = 0; i < 6; i++) await decider.check({ clientId: 'ada', route: '/a', cost: 1 })
    expect(decider.health.isBreakerOpen).toBe(true)
    expect(Object.fromEntries(decider.health.failures)).toEqual({ timeout: 5 })
    expect(await decider.check({ clientId: 'ada', route: '/a', cost: 1 })).toMatchObject({ decision: { remaining: 92 } })
  })

  test.each([
    ['allow', true, { fallbackAllow: 1 }],
    ['deny', false, { fallbackDeny: 1 }],
  ] as const)('failure mode %s has a reason of its own, and its numbers are not measured', async (then, allowed, reasons) => {
    const { stats, decider } = decide(then)
    expect(await decider.check({ clientId: 'ada', route: '/a', cost: 1 })).toMatchObject({ allowed, isShadowDenied: false })
    expect(reasonsOf(stats)).toEqual(reasons)
    expect(stats.utilization.counts.reduce((a, b) => a + b)).toBe(0)
    expect(stats.policies()[0].nearLimit).toBe(0)
    expect(stats.total.totals()).toEqual({ allowed: allowed ? 1 : 0, denied: allowed ? 0 : 1, shadow_denied: 0, errors: 0 })
  })

  test('failure mode deny denies nothing in shadow mode, and is not taken for a denial of the rules', async () => {
    const { stats, decider } = decide('deny', { name: 'seen', client: 'eve', rules: '1/minute', mode: 'shadow' })
    expect(await decider.check({ clientId: 'eve', route: '/a', cost: 1 })).toMatchObject({ allowed: true, isShadowDenied: false })
    expect(reasonsOf(stats)).toEqual({ fallbackAllow: 1 })
  })

  test('a denial of local counters has the reason of its rules', async () => {
    const { stats, decider } = decide('local', { name: 'own', client: 'ada', rules: '1/minute' })
    for (const cost of [1, 1, 2]) await decider.check({ clientId: 'ada', route: '/a', cost })
    expect(reasonsOf(stats)).toEqual({ within: 1, limit: 1, cost: 1 })
    expect(stats.utilization.counts.reduce((a, b) => a + b)).toBe(3)
  })

  function reasonsOf({ total }: Stats): Record<string, number> {
    const counts = Object.entries(REASON).map(([name, i]) => [name, total.byReason[i]] as const)
    return Object.fromEntries(counts.filter(([, count]) => count > 0))
  }

  test('without a fallback the check fails, and is counted as an error', async () => {
    const { stats, decider } = decide('throw')
    await expect(decider.check({ clientId: 'ada', route: '/a', cost: 1 })).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
    expect([...stats.total.byReason]).toEqual([0, 0, 0, 0, 0, 1, 0, 0, 0])
  })
})
