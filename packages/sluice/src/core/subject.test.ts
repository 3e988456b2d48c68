import { runInNewContext } from 'node:vm'
import { describe, expect, expectTypeOf, test } from 'vitest'
import {
  createLimiter,
  fixedWindow,
  type Limiter,
  memoryStore,
  parseRule,
  type Rule,
  slidingLog,
  tokenBucket,
  waitingLine,
} from '../index.ts'
import { definitionStore, fakeClock } from '../testing/index.ts'

const REQUESTS = fixedWindow({ limit: 3, window: '1m', name: 'requests', per: 'user' })
const TOKENS = tokenBucket({ capacity: 100, refill: 100, every: '1m', name: 'tokens', per: ['org'] })
const EVERYBODY = slidingLog({ limit: 5, window: '1d', name: 'everybody', per: [] })

const STORES = { memory: () => memoryStore({ clock: fakeClock() }), definition: () => definitionStore(fakeClock()) }

for (const [name, store] of Object.entries(STORES)) {
  describe(`subjects on the ${name} store`, () => {
    const three = () => createLimiter({ rules: [REQUESTS, TOKENS, EVERYBODY], store: store() })

    test('each rule counts by its own names', () => {
      const limiter = three()
      limiter.hit({ user: 'u1', org: 'acme' }, { cost: { tokens: 40 } })
      limiter.hit({ user: 'u2', org: 'acme' }, { cost: { tokens: 20 } })
      const used = (rule: string) => limiter.get({ user: 'u1', org: 'acme' }, { rule })
      expect([used('requests'), used('tokens'), used('everybody')]).toEqual([1, 60, 2])
      expect(limiter.get({ user: 'u3', org: 'acme' }, { rule: 'requests' })).toBe(0)
    })

    test('a denial by one rule charges none, whichever key it is about', () => {
      const limiter = three()
      const ada = { user: 'ada', org: 'acme' }
      limiter.hit(ada, { cost: { tokens: 90 } })
      const denied = limiter.hit(ada, { cost: { tokens: 20 } })
      expect(denied).toMatchObject({ allowed: false, rule: 'tokens', remaining: 10 })
      expect(['requests', 'tokens', 'everybody'].map((rule) => limiter.get(ada, { rule }))).toEqual([1, 90, 1])
    })

    test('a rule that costs 0 is neither asked nor charged', () => {
      const limiter = three()
      const bob = { user: 'bob', org: 'acme' }
      limiter.set(bob, 100, { rule: 'tokens' })
      const decision = limiter.hit(bob, { cost: { tokens: 0 } })
      expect(decision.allowed).toBe(true)
      expect(decision.rules.map((status) => status.name)).toEqual(['requests', 'everybody'])
      expect(limiter.get(bob, { rule: 'tokens' })).toBe(100)
    })

    test('what is spent is what was checked: a hidden cost is none, and a getter is read once', () => {
      const limiter = three()
      const ada = { user: 'ada', org: 'acme' }
      limiter.hit(ada, { cost: Object.defineProperty({}, 'tokens', { value: 0.5 }) })
      expect(limiter.get(ada, { rule: 'tokens' })).toBe(1)
      let reads = 0
      const cost = {
        get tokens() {
          reads += 1
          return reads === 1 ? 2 : 1.5
        },
      }
      limiter.hit(ada, { cost })
      expect(limiter.get(ada, { rule: 'tokens' })).toBe(3)
    })

    test('rules without a name of their own share what they counted, whatever the order of their names in `per`', () => {
      const shared = store()
      const limiters = [['a', 'b'] as const, ['b', 'a'] as const].map((per) =>
        createLimiter({ rules: fixedWindow({ limit: 9, window: '1m', per }), store: shared }),
      )
      for (const limiter of limiters) limiter.hit({ a: '1', b: '2' })
      expect(limiters.map((limiter) => limiter.get({ a: '1', b: '2' }))).toEqual([2, 2])
    })

    test('refund and reset take the same subjects and costs', () => {
      const limiter = three()
      const eve = { user: 'eve', org: 'acme' }
      limiter.hit(eve, { cost: { tokens: 50 } })
      limiter.refund(eve, { tokens: 30, everybody: 0 })
      expect(['requests', 'tokens', 'everybody'].map((rule) => limiter.get(eve, { rule }))).toEqual([0, 20, 1])
      limiter.reset(eve)
      expect(['requests', 'tokens', 'everybody'].map((rule) => limiter.get(eve, { rule }))).toEqual([0, 0, 0])
    })

    test('values and names that look alike are kept apart', () => {
      const shared = store()
      const one = createLimiter({ rules: fixedWindow({ limit: 9, window: '1m', name: 'r', per: ['a', 'b'] }), store: shared })
      const subjects = [
        { a: '1', b: '11' },
        { a: '11', b: '1' },
        { a: '1:1', b: '1' },
        { a: '1', b: '1:1' },
        { a: '1:11', b: '1' },
      ]
      subjects.forEach((subject, i) => void one.set(subject, i + 1))
      expect(subjects.map((subject) => one.get(subject))).toEqual([1, 2, 3, 4, 5])
      const plain = createLimiter({ rules: fixedWindow({ limit: 9, window: '1m', name: 'r' }), store: shared })
      const other = createLimiter({ rules: fixedWindow({ limit: 9, window: '1m', name: 'r', per: 'a' }), store: shared })
      for (const key of ['1', '1:12:11', '*']) expect([plain.get(key), other.get({ a: key })]).toEqual([0, 0])
    })

    test('the order of names does not matter', () => {
      const shared = store()
      const make = (per: readonly string[]) =>
        createLimiter({ rules: fixedWindow({ limit: 9, window: '1m', name: 'r', per }) as Rule, store: shared })
      ;(make(['a', 'b']) as Limiter<'sync', { a: string; b: string }>).hit({ a: 'x', b: 'y' })
      expect((make(['b', 'a']) as Limiter<'sync', { a: string; b: string }>).get({ b: 'y', a: 'x' })).toBe(1)
    })

    test('bad subjects and costs are refused, and nothing is written', () => {
      const limiter = three()
      const good = { user: 'u', org: 'o' }
      const bad: [string, unknown, object | undefined][] = [
        ['ERR_KEY', 'u', undefined],
        ['ERR_KEY', undefined, undefined],
        ['ERR_KEY', null, undefined],
        ['ERR_KEY', ['u'], undefined],
        ['ERR_KEY', { user: 'u' }, undefined],
        ['ERR_KEY', { user: 'u', org: '' }, undefined],
        ['ERR_KEY', { user: 'u', org: 7 }, undefined],
        ['ERR_KEY', { ...good, route: '/' }, undefined],
        ['ERR_KEY', Object.create(good), undefined],
        ['ERR_COST', good, { cost: { tokens: -1 } }],
        ['ERR_COST', good, { cost: { tokens: 0.5 } }],
        ['ERR_COST', good, { cost: { tokens: '1' } }],
        ['ERR_COST', good, { cost: { tokens: 0, requests: 0, everybody: 0 } }],
        ['ERR_COST', good, { cost: null }],
        ['ERR_COST', good, { cost: [] }],
        ['ERR_COST', good, { cost: new Map([['tokens', 5]]) }],
        ['ERR_COST', good, { cost: Promise.resolve(5) }],
        ['ERR_COST', good, { cost: Object(5) }],
        ['ERR_KEY', new Map(Object.entries(good)), undefined],
        ['ERR_KEY', Object.defineProperty({ user: 'u' }, 'org', { value: 'o', enumerable: false }), undefined],
        ['ERR_RULE_NAME', good, { cost: { token: 1 } }],
        ['ERR_RULE_NAME', good, { cost: { __proto__: null, constructor: 1 } }],
      ]
      for (const [code, subject, options] of bad) {
        expect(() => limiter.hit(subject as never, options), JSON.stringify([subject, options])).toThrow(
          expect.objectContaining({ code }),
        )
      }
      for (const rule of ['requests', 'tokens', 'everybody']) expect(limiter.expiresAt(good, { rule })).toBe(0)
    })
  })
}

describe('of records', () => {
  /** An object whose property is another value at each read. */
  const changing = <V>(name: string, values: readonly V[]): Record<string, V> => {
    let reads = 0
    return Object.defineProperty({}, name, { enumerable: true, get: () => values[Math.min(reads++, values.length - 1)] })
  }

  test('getters are read once: the value that was checked is the one that counts', async () => {
    const limiter = createLimiter({ rules: REQUESTS, waiting: waitingLine() })
    const ask: readonly ((subject: { readonly user: string }) => unknown)[] = [
      (subject) => limiter.hit(subject),
      (subject) => limiter.inc(subject),
      (subject) => limiter.wait(subject),
    ]
    for (const each of ask) await each(changing('user', ['ada', '']) as { readonly user: string })
    expect(limiter.get({ user: 'ada' })).toBe(3)
    limiter.hit({ user: 'bob' }, { cost: changing('requests', [2, -5]) })
    expect(limiter.get({ user: 'bob' })).toBe(2)
  })

  test('own properties of any subject count, and inherited ones do not', () => {
    const limiter = createLimiter({ rules: [REQUESTS, TOKENS], store: STORES.memory() })
    class Account {
      user = 'ada'
      org = 'acme'
    }
    const subject = Object.assign(Object.create({ route: '/' }), { user: 'ada', org: 'acme' })
    limiter.hit(subject)
    limiter.hit({ ...new Account() })
    limiter.hit(new Account())
    expect(limiter.get(subject, { rule: 'tokens' })).toBe(3)
    class Getters {
      get user() {
        return 'ada'
      }
      get org() {
        return 'acme'
      }
    }
    expect(() => limiter.hit(new Getters())).toThrow(expect.objectContaining({ code: 'ERR_KEY', option: 'user' }))
  })

  test('a cost by rule is a plain object: one of a class would hide its getters', () => {
    const limiter = createLimiter({ rules: [REQUESTS, TOKENS], store: STORES.memory() })
    const subject = { user: 'ada', org: 'acme' }
    class Getters {
      get tokens() {
        return 50
      }
    }
    class Costs {
      tokens = 7
    }
    const refused = expect.objectContaining({
      code: 'ERR_COST',
      option: 'cost',
      message: 'cost must be a plain object of costs by rule name, got an object',
    })
    for (const cost of [
      new Getters(),
      new Costs(),
      Object.create({ tokens: 50 }),
      new Map(),
      Object.create(Object.create(null)),
    ]) {
      for (const method of ['hit', 'peek'] as const) expect(() => limiter[method](subject, { cost })).toThrow(refused)
      expect(() => limiter.refund(subject, cost)).toThrow(refused)
    }
    expect(limiter.expiresAt(subject, { rule: 'tokens' })).toBe(0)
    limiter.hit(subject, { cost: { ...new Costs() } })
    limiter.hit(subject, { cost: Object.assign(Object.create(null), { tokens: 7 }) })
    limiter.hit(subject, { cost: runInNewContext('({ tokens: 7 })') })
    expect(limiter.get(subject, { rule: 'tokens' })).toBe(21)
  })

  test('a rule that costs 0 is not asked by peek either, and one must be asked', () => {
    const limiter = createLimiter({ rules: [REQUESTS, TOKENS], store: STORES.memory() })
    const subject = { user: 'ada', org: 'acme' }
    expect(limiter.peek(subject, { cost: { tokens: 0 } }).rules.map(({ name }) => name)).toEqual(['requests'])
    expect(() => limiter.peek(subject, { cost: { tokens: 0, requests: 0 } })).toThrow(
      expect.objectContaining({ code: 'ERR_COST', option: 'cost' }),
    )
    expect(limiter.peek(subject, { cost: 0 }).rules).toHaveLength(2)
  })
})

test('the error about a missing key names it', () => {
  const limiter = createLimiter({ rules: [REQUESTS, TOKENS] })
  expect(() => limiter.hit({ user: 'u' } as never)).toThrow(expect.objectContaining({ option: 'org', value: undefined }))
})

describe('per is checked when a rule or limiter is made', () => {
  for (const per of [
    '',
    'a b',
    '1a',
    ['a', 'a'],
    [7],
    7,
    null,
    {},
    Array.from({ length: 17 }, (_, i) => `n${i}`),
    'a:b',
    'a,b',
  ]) {
    test(JSON.stringify(per), () => {
      expect(() => fixedWindow({ limit: 1, window: '1s', per: per as string })).toThrow(
        expect.objectContaining({ code: 'ERR_RULE', option: 'per' }),
      )
    })
  }

  test('a limiter never mixes rules with and without it', () => {
    expect(() => createLimiter({ rules: [REQUESTS, parseRule('5/minute')] })).toThrow(
      expect.objectContaining({ code: 'ERR_OPTION', option: 'per' }),
    )
  })

  test('rules that differ in nothing else have different default names', () => {
    const make = (per?: string | readonly string[]) => fixedWindow({ limit: 1, window: '1s', per }).name
    expect(new Set([make(), make('a'), make('b'), make(['a', 'b']), make([])]).size).toBe(5)
  })
})

test('types: the subject has exactly the names that the rules use', () => {
  const limiter = createLimiter({ rules: [REQUESTS, TOKENS, EVERYBODY] })
  expectTypeOf(limiter).toEqualTypeOf<Limiter<'sync', { readonly user: string; readonly org: string }>>()
  // @ts-expect-error: Property 'org' is missing.
  expect(() => limiter.hit({ user: 'u' })).toThrow()
  // @ts-expect-error: an object is expected.
  expect(() => limiter.hit('u')).toThrow()
  const plain = createLimiter({ rules: parseRule('5/minute') })
  expectTypeOf(plain).toEqualTypeOf<Limiter<'sync', string>>()
  // @ts-expect-error: a string is expected.
  expect(() => plain.hit({ user: 'u' })).toThrow()
})

test('a rule that counts everybody takes an empty object, and the types know', () => {
  const limiter = createLimiter({ rules: EVERYBODY })
  expect(limiter.hit({}).allowed).toBe(true)
  // @ts-expect-error a key is no object
  expect(() => limiter.hit('ada')).toThrow('subject must be an object')
  // @ts-expect-error no rule counts by it
  expect(() => limiter.hit({ user: 'ada' })).toThrow('no rule counts by')
})

test('the order of names in per makes no other rule', () => {
  const name = (per: readonly string[]) => fixedWindow({ limit: 5, window: '1m', per }).name
  expect(name(['user', 'org'])).toBe(name(['org', 'user']))
})
