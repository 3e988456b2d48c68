import { memoryStore } from 'sluice'
import { failingStore, fakeClock } from 'sluice/testing'
import { describe, expect, test } from 'vitest'
import { type PolicySpec, readPolicy } from '../policies/policy.ts'
import { PolicyBook } from '../policies/policy-book.ts'
import type { Attributes } from '../policies/request-facts.ts'
import { Stats } from '../stats/stats.ts'
import { type CheckResult, Decider } from './decider.ts'

const ADA: Attributes = { org: 'acme', plan: 'free' }

function setUp(...specs: PolicySpec[]) {
  const time = fakeClock()
  const book = new PolicyBook(() => time.now())
  const put = (spec: PolicySpec) => book.put(readPolicy(spec, 'api'))
  specs.forEach(put)
  const stats = new Stats(() => time.now())
  const store = memoryStore({ clock: time })
  const decider = new Decider({ store, failure: {}, fallbackKeys: 1000, mostHolds: 100, policies: book, stats })
  const check = (clientId = 'ada', attributes = ADA, route = '/a', cost = 1) =>
    decider.check({ clientId, route, attributes, cost }) as CheckResult
  const usedBy = async (clientId = 'ada', attributes = ADA, route = '/a') => {
    const { rules } = await decider.usage({ clientId, route, attributes, cost: 1 })
    return Object.fromEntries(rules.map(({ name, limit, remaining }) => [name, limit - remaining]))
  }
  return { time, book, put, stats, store, decider, check, usedBy }
}

const GLOBAL: PolicySpec = { name: 'everybody', applies: 'always', per: [], rules: '100/minute' }
const ORG: PolicySpec = { name: 'org', applies: 'always', per: 'org', rules: '5/minute' }
const USER: PolicySpec = { name: 'user', route: '/a', rules: '3/minute' }

describe('layers', () => {
  test('are one decision: all are charged, or none is', async () => {
    const { check, usedBy } = setUp(GLOBAL, ORG, USER)
    for (let i = 0; i < 3; i++) expect(check().allowed).toBe(true)
    expect(await usedBy()).toEqual({ 'rule-1': 3, 'everybody/rule-1': 3, 'org/rule-1': 3 })
    expect(check()).toMatchObject({ allowed: false, policy: { name: 'user' }, decision: { rule: 'rule-1' } })
    expect(await usedBy()).toEqual({ 'rule-1': 3, 'everybody/rule-1': 3, 'org/rule-1': 3 })
    expect(check('bob')).toMatchObject({ allowed: true, policy: { name: 'org' }, decision: { rule: 'org/rule-1', remaining: 1 } })
    expect(check('bob').allowed).toBe(true)
    expect(check('bob')).toMatchObject({ allowed: false, policy: { name: 'org' } })
    expect(await usedBy('bob')).toEqual({ 'rule-1': 2, 'everybody/rule-1': 5, 'org/rule-1': 5 })
    expect(check('eve', { org: 'other' }).allowed).toBe(true)
  })

  test('are decided synchronously in memory', () => {
    const { decider } = setUp(GLOBAL, ORG, USER)
    expect(decider.check({ clientId: 'ada', route: '/a', attributes: ADA, cost: 1 })).not.toBeInstanceOf(Promise)
  })

  test('a request without an attribute that a rule counts by does not match the policy', async () => {
    const { check, usedBy } = setUp(ORG, USER, { name: 'by-plan', route: '/b', rules: '1/minute', per: ['plan', 'client'] })
    expect(check('ada', {}).policy.name).toBe('user')
    expect(Object.keys(await usedBy('ada', {}))).toEqual(['rule-1'])
    expect(check('ada', {}, '/b').policy.name).toBe('default')
    expect(check('ada', { plan: 'free' }, '/b').policy.name).toBe('by-plan')
  })

  test('per counts by exactly its keys', async () => {
    const { check, usedBy } = setUp({
      name: 'both',
      route: '/*',
      rules: [
        { algorithm: 'fixed-window', limit: 10, window: '1m', name: 'client-route' },
        { algorithm: 'fixed-window', limit: 10, window: '1m', name: 'org', per: 'org' },
        { algorithm: 'fixed-window', limit: 10, window: '1m', name: 'org-route', per: ['route', 'org'] },
        { algorithm: 'fixed-window', limit: 10, window: '1m', name: 'all', per: [] },
      ],
    })
    check('ada', { org: 'a' }, '/a')
    check('ada', { org: 'b' }, '/a')
    check('bob', { org: 'a' }, '/b')
    expect(await usedBy('ada', { org: 'a' }, '/a')).toEqual({ 'client-route': 2, org: 2, 'org-route': 1, all: 3 })
  })

  test('a policy that starts or stops to apply resets nothing', async () => {
    const { check, usedBy, put, book } = setUp(USER)
    check('ada', {})
    check('ada', {})
    put(GLOBAL)
    expect(await usedBy('ada', {})).toEqual({ 'rule-1': 2, 'everybody/rule-1': 0 })
    check('ada', {})
    expect(check('ada', {})).toMatchObject({ allowed: false, policy: { name: 'user' } })
    book.delete('everybody')
    expect(await usedBy('ada', {})).toEqual({ 'rule-1': 3 })
    put(GLOBAL)
    expect(await usedBy('ada', {})).toEqual({ 'rule-1': 3, 'everybody/rule-1': 1 })
  })

  test('rules of different policies with the same name share nothing', async () => {
    const same = { applies: 'always', rules: '10/minute' } as const
    const { check, usedBy, book } = setUp({ name: 'one', ...same }, { name: 'two', ...same })
    check('ada', {})
    book.delete('one')
    check('ada', {})
    expect(await usedBy('ada', {})).toEqual({ 'rule-1': 2, 'two/rule-1': 2 })
  })

  test('the built-in policy counts all paths of a client together, and a layer each path by itself', async () => {
    const { decider, usedBy } = setUp({ name: 'layer', applies: 'always', rules: '10/minute' })
    for (const route of ['/a', '/b']) decider.checkPath({ clientId: 'ada', route, cost: 1 })
    expect(await usedBy('ada', {}, '*')).toEqual({ 'rule-1': 2, 'layer/rule-1': 0 })
    expect(await usedBy('ada', {}, '/a')).toEqual({ 'rule-1': 0, 'layer/rule-1': 1 })
  })

  test('more than the maximum on one request is an error, and decides nothing', () => {
    const { check, put, book } = setUp()
    put({ ...ORG, client: 'ada' })
    for (let i = 0; i < 15; i++) put({ ...GLOBAL, name: `g${i}` })
    expect(check().allowed).toBe(true)
    put({ ...GLOBAL, name: 'one-more' })
    expect(() => check()).toThrow(expect.objectContaining({ code: 'ERR_LAYERS' }))
    expect(check('bob').allowed).toBe(true)
    book.delete('g3')
    expect(check().decision.rules).toHaveLength(17)
  })

  test('a layer that would make all its requests fail is refused', () => {
    const { check, put } = setUp()
    const refused = expect.objectContaining({ code: 'ERR_LAYERS' })
    for (let i = 0; i < 16; i++) put({ ...GLOBAL, name: `g${i}`, ...(i % 2 === 0 && { client: 'a*', where: { org: 'ac*' } }) })
    expect(() => put({ ...ORG, client: 'ad*', where: { org: 'acme', plan: 'free' } })).toThrow(refused)
    expect(() => put({ ...ORG, client: 'a*', where: { org: 'ac*' } })).toThrow(refused)
    put({ ...ORG, client: 'b*', where: { org: 'acme' } })
    // A layer that takes the place of another, and one whose other requests can be decided.
    const narrow = { ...GLOBAL, name: 'g0', client: 'ad*', where: { org: 'acme' } }
    put(narrow)
    put({ ...ORG, name: 'wider', client: 'a*', where: { org: 'a*' } })
    expect(() => check('adx', { org: 'acme' })).toThrow(refused)
    expect([check('bob').allowed, check('ax', { org: 'alpha' }).allowed]).toEqual([true, true])
    // A change of its rules makes nothing worse.
    put({ ...narrow, rules: '7/minute' })
  })

  test('a block denies, however many layers there are', () => {
    const { check, put } = setUp()
    for (let i = 0; i < 16; i++) put({ ...GLOBAL, name: `g${i}` })
    put({ name: 'no', client: 'ada', applies: 'always', mode: 'deny' })
    expect(check()).toMatchObject({ allowed: false, policy: { name: 'no' } })
    expect(check('bob').allowed).toBe(true)
  })
})

describe('headers of a set', () => {
  const bytes = (headers: object) => Object.entries(headers).flat().join('').length

  test('have every rule of a few layers', () => {
    const { responder, decision } = setUp(GLOBAL, ORG, USER).check()
    expect(responder.headers(decision)).toEqual({
      'RateLimit-Policy': '"rule-1";q=3;w=60, "everybody/rule-1";q=100;w=60, "org/rule-1";q=5;w=60',
      RateLimit: '"rule-1";r=2;t=60, "everybody/rule-1";r=99;t=60, "org/rule-1";r=4;t=60',
    })
  })

  test('fit the buffers of proxies, however many rules there are', () => {
    const { check, put } = setUp(USER)
    for (let i = 0; i < 16; i++)
      put({ ...GLOBAL, name: `${i}`.padEnd(64, 'x'), rules: Array.from({ length: 16 }, (_, n) => `${200 + n}/hour`) })
    let most = 0
    for (let n = 0; n < 4; n++) {
      const { responder, decision, allowed } = check()
      expect(allowed).toBe(n < 3)
      const headers = responder.headers(decision)
      expect(headers['RateLimit-Policy']).toBe('"rule-1";q=3;w=60')
      expect(headers.RateLimit).toBe(`"rule-1";r=${Math.max(0, 2 - n)};t=60`)
      most = Math.max(most, bytes(headers))
    }
    expect(most).toBeLessThan(100)
    const denied = check('ada', ADA, '/a', 500)
    const { headers, body } = denied.responder.denial(denied.decision)
    expect(Object.keys(headers).sort()).toEqual(['Content-Type', 'RateLimit', 'RateLimit-Policy'])
    expect(JSON.parse(body)['violated-policies']).toHaveLength(257)
    // Just below the bound, every rule is listed.
    const few = setUp(USER)
    for (let i = 0; i < 16; i++) few.put({ ...GLOBAL, name: `${i}`.padEnd(58, 'x') })
    const { responder, decision } = few.check()
    expect(responder.headers(decision).RateLimit.split(', ')).toHaveLength(17)
    expect(bytes(responder.headers(decision))).toBeLessThan(3100)
  })
})

describe('modes in a set', () => {
  test('off joins nothing; the others decide', async () => {
    const { check, usedBy } = setUp({ ...USER, mode: 'off' }, ORG)
    for (let i = 0; i < 5; i++) expect(check()).toMatchObject({ allowed: true, policy: { name: 'org' } })
    expect(check()).toMatchObject({ allowed: false, policy: { name: 'org' } })
    expect(await usedBy()).toMatchObject({ 'rule-1': 0, 'org/rule-1': 5 })
  })

  test('shadow is decided after the enforced ones, by itself, and denies nothing', async () => {
    const { check, usedBy, stats } = setUp(USER, { ...ORG, rules: '2/minute', mode: 'shadow' })
    expect([check(), check(), check()].map(({ allowed, isShadowDenied }) => [allowed, isShadowDenied])).toEqual([
      [true, false],
      [true, false],
      [true, true],
    ])
    expect(check()).toMatchObject({ allowed: false, isShadowDenied: false, policy: { name: 'user' } })
    expect(await usedBy()).toEqual({ 'rule-1': 3, 'org/rule-1': 2 })
    expect(stats.statsOf('org').totals()).toEqual({ allowed: 2, denied: 0, shadow_denied: 1, errors: 0 })
    expect(stats.statsOf('user').totals()).toEqual({ allowed: 3, denied: 1, shadow_denied: 0, errors: 0 })
    expect(stats.total.totals()).toEqual({ allowed: 2, denied: 1, shadow_denied: 1, errors: 0 })
  })

  test('two policies in shadow mode do not hinder each other', async () => {
    const { check, usedBy } = setUp({ ...USER, mode: 'shadow', rules: '1/minute' }, { ...ORG, mode: 'shadow', rules: '3/minute' })
    for (let i = 0; i < 3; i++) expect(check().allowed).toBe(true)
    expect(await usedBy()).toEqual({ 'rule-1': 1, 'org/rule-1': 3 })
    expect(check()).toMatchObject({ allowed: true, isShadowDenied: true })
  })

  test('shadow beside an enforced policy fails no check, whatever the store does', async () => {
    const time = fakeClock()
    const store = failingStore(time)
    const book = new PolicyBook()
    for (const spec of [USER, { ...ORG, mode: 'shadow' as const }]) book.put(readPolicy(spec, 'api'))
    const stats = new Stats(() => time.now())
    const decider = new Decider({ store, failure: { then: 'throw' }, fallbackKeys: 9, mostHolds: 9, policies: book, stats })
    const request = { clientId: 'ada', route: '/a', attributes: ADA, cost: 1 }
    expect(await decider.check(request)).toMatchObject({ allowed: true })
    expect(store.calls).toHaveLength(2)
    // The key of the policy in shadow mode has its name.
    store.plan = ({ call }) => (call?.charges.some(({ key }) => key.startsWith('n3:org')) ? 'fatal' : 'answer')
    expect(await decider.check(request)).toMatchObject({ allowed: true, isShadowDenied: false, decision: { remaining: 1 } })
    expect(stats.statsOf('org').totals()).toMatchObject({ allowed: 1, errors: 1 })
    expect(stats.total.totals()).toMatchObject({ allowed: 2, errors: 0 })
    store.plan = 'fatal'
    await expect(decider.check(request)).rejects.toMatchObject({ code: 'ERR_STORE_FATAL' })
  })

  test('a concurrency rule of an enforced layer needs a reserve, and one in shadow mode does not', () => {
    const places = {
      name: 'places',
      applies: 'always',
      rules: { algorithm: 'concurrency', limit: 1, ttl: '1m' },
    } as const
    const { check, put } = setUp(USER, places)
    expect(() => check()).toThrow(expect.objectContaining({ code: 'ERR_NEEDS_RESERVE' }))
    put({ ...places, mode: 'shadow' })
    expect(check().allowed).toBe(true)
  })
})

describe('a block', () => {
  test('denies at once, and nothing is counted', async () => {
    const { check, usedBy, stats } = setUp(USER, { name: 'no', applies: 'always', client: 'ada', mode: 'deny' })
    const { allowed, decision, policy, reason } = check()
    expect([allowed, policy.name, reason]).toEqual([false, 'no', undefined])
    expect(decision).toMatchObject({ limit: 0, remaining: 0, retryAfterMs: Number.POSITIVE_INFINITY, retryable: false })
    expect(await usedBy()).toEqual({ 'rule-1': 0 })
    expect(check('bob').allowed).toBe(true)
    expect(stats.statsOf('no').totals().denied).toBe(1)
  })

  test('shows its reason only if it is told to', () => {
    const block = { name: 'no', client: 'ada', mode: 'deny', reason: 'unpaid “bill”' } as const
    const { check, put } = setUp(block)
    expect(check().reason).toBeUndefined()
    put({ ...block, show_reason: true })
    expect(check().reason).toBe('"unpaid \\u201cbill\\u201d"')
  })

  test.each(['0/minute', '9/minute; 0/day', { algorithm: 'gcra', limit: 0, period: '1s' }, 'token-bucket 0/second'])(
    'a rule of limit 0 denies everything: %j',
    async (rules) => {
      const { check, usedBy } = setUp({ name: 'none', client: 'ada', rules } as PolicySpec)
      expect(check()).toMatchObject({ allowed: false, policy: { name: 'none' }, decision: { limit: 0 } })
      expect(Object.values(await usedBy())).not.toContain(1)
    },
  )

  test('a rule of limit 0 in shadow mode denies nothing', () => {
    const { check } = setUp({ name: 'none', client: 'ada', rules: '0/minute', mode: 'shadow' })
    expect(check()).toMatchObject({ allowed: true, isShadowDenied: true })
  })

  test('that expires says how long, and is over at its time', () => {
    const { check, time, book } = setUp()
    const until = (ms: number) => new Date(time.now() + ms).toISOString()
    const block = { name: 'no', client: 'ada', applies: 'always', mode: 'deny' }
    book.put(readPolicy({ ...block, expires_at: until(60_000) }, 'api'))
    book.put(readPolicy({ ...block, name: 'shorter', expires_at: until(30_000) }, 'api'))
    expect(check()).toMatchObject({ allowed: false, policy: { name: 'no' }, decision: { retryAfterMs: 60_000, retryable: true } })
    time.advance(59_999)
    expect(check()).toMatchObject({ allowed: false, decision: { retryAfterMs: 1 } })
    time.advance(1)
    expect(check().allowed).toBe(true)
  })
})

describe('counters of a set', () => {
  test('a reset leaves counters that are shared with other clients', async () => {
    const { check, decider, usedBy } = setUp(GLOBAL, ORG, USER, {
      name: 'own',
      applies: 'always',
      rules: '9/minute',
      scope: 'policy',
    })
    check()
    check()
    await decider.reset({ clientId: 'ada', route: '/a', attributes: ADA })
    expect(await usedBy()).toEqual({ 'rule-1': 0, 'everybody/rule-1': 2, 'org/rule-1': 2, 'own/rule-1': 0 })
  })

  test('a refund gives back what a check has spent, on every policy', async () => {
    const { check, decider, usedBy } = setUp(GLOBAL, ORG, USER)
    check('ada', ADA, '/a', 3)
    await decider.refund({ clientId: 'ada', route: '/a', attributes: ADA, cost: 2 })
    expect(await usedBy()).toEqual({ 'rule-1': 1, 'everybody/rule-1': 1, 'org/rule-1': 1 })
  })

  test('a set changes one rule, by its name or with its policy', async () => {
    const { decider, usedBy } = setUp(ORG, USER)
    const facts = { clientId: 'ada', route: '/a', attributes: ADA }
    expect(await decider.set(facts, 2, undefined)).toMatchObject({ policy: { name: 'user' }, used: 2 })
    expect(await decider.set(facts, 4, 'org/rule-1')).toMatchObject({ policy: { name: 'org' }, used: 4 })
    expect(await usedBy()).toEqual({ 'rule-1': 2, 'org/rule-1': 4 })
    await expect(decider.set(facts, 4, 'nobody/rule-1')).rejects.toMatchObject({ code: 'ERR_RULE_NAME' })
  })
})

describe('holds of a set', () => {
  const tokens = { algorithm: 'fixed-window', limit: 100, window: '1h', name: 'tokens' } as const
  const specs = [
    { name: 'own', client: 'ada', rules: [tokens, '1000/minute'] },
    { name: 'org', applies: 'always', per: 'org', rules: { ...tokens, limit: 150 } },
  ] as PolicySpec[]
  const facts = { clientId: 'ada', route: '/a', attributes: ADA }

  test('hold a rule of every policy that has the name, all or nothing, and settle it', async () => {
    const { decider, usedBy } = setUp(...specs)
    const first = await decider.holds.reserve({ ...facts, hold: { tokens: 90 } })
    expect(first.hold?.granted).toEqual({ tokens: 90, 'org/tokens': 90 })
    const bob = { ...facts, clientId: 'bob' }
    const denied = await decider.holds.reserve({ ...bob, hold: { 'org/tokens': 61 } })
    expect(denied).toMatchObject({ allowed: false, policy: { name: 'org' }, hold: undefined })
    expect(await usedBy('bob')).toMatchObject({ 'rule-1': 0, 'org/tokens': 90 })
    if (first.hold === undefined) throw new Error('denied')
    expect(await decider.holds.settle(first.hold, { tokens: 10 })).toMatchObject({ used: { tokens: 10, 'org/tokens': 10 } })
    expect(await usedBy()).toEqual({ tokens: 10, 'rule-2': 1, 'org/tokens': 10 })
    await expect(decider.holds.settle(first.hold, undefined)).rejects.toMatchObject({ code: 'ERR_HOLD' })
  })

  test('a hold is settled although a layer came or went meanwhile', async () => {
    const { decider, usedBy, put, book } = setUp(specs[0])
    const plain = await decider.holds.reserve({ ...facts, hold: { tokens: 50 } })
    put(specs[1])
    if (plain.hold === undefined) throw new Error('denied')
    await decider.holds.settle(plain.hold, 5)
    expect(await usedBy()).toMatchObject({ tokens: 5, 'org/tokens': 0 })
    const both = await decider.holds.reserve({ ...facts, hold: { tokens: 50 } })
    book.delete('org')
    if (both.hold === undefined) throw new Error('denied')
    await decider.holds.cancel(both.hold)
    expect(await usedBy()).toMatchObject({ tokens: 5 })
  })

  test('a blocked client reserves nothing', async () => {
    const { decider, usedBy } = setUp(...specs, { name: 'no', applies: 'always', client: 'ada', mode: 'deny' })
    expect(await decider.holds.reserve({ ...facts, hold: 1 })).toMatchObject({ allowed: false, hold: undefined })
    expect(Object.values(await usedBy())).toEqual([0, 0, 0])
  })
})
