import { describe, expect, test } from 'vitest'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import { parseRule } from '../algorithms/parse-rule.ts'
import { tokenBucket } from '../algorithms/token-bucket/token-bucket.ts'
import type { Store } from '../core/store.ts'
import { createLimiter } from '../create-limiter.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { definitionStore } from '../testing/definition-store.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { fetchLimiter } from './fetch.ts'
import type { GateOptions } from './gate-options.ts'

const DENO = { remoteAddr: { hostname: '203.0.113.9' } }

type Options = GateOptions<Request>

/** A handler behind a limiter that counts on a fake clock, as it is called by Deno. */
function setUp(options: Options, handler: (request: Request) => Response | Promise<Response> = () => new Response('hello')) {
  const clock = fakeClock()
  const usual = options.limiter === undefined ? { store: memoryStore({ clock }) } : {}
  const limited = fetchLimiter({ ...usual, ...options })((request: Request, _info: unknown) => handler(request))
  const ask = (headers: Record<string, string> = {}) => limited(new Request('http://localhost/', { headers }), DENO)
  return { clock, ask }
}

/** The definitions behind promises, as a store far away would have them. */
function laterStore(clock = fakeClock()): Store<'async'> {
  const inner = definitionStore(clock)
  const later = async <T>(answer: () => T): Promise<T> => answer()
  return {
    timing: 'async',
    clock,
    tally(rules) {
      const tally = inner.tally(rules)
      return {
        hit: (key, cost) => later(() => tally.hit(key, cost)),
        peek: (key, cost) => later(() => tally.peek(key, cost)),
        inc: (rule, key, cost) => later(() => tally.inc(rule, key, cost)),
        get: (rule, key) => later(() => tally.get(rule, key)),
        set: (rule, key, used) => later(() => tally.set(rule, key, used)),
        expiresAt: (rule, key) => later(() => tally.expiresAt(rule, key)),
        refund: (key, cost, rule) => later(() => tally.refund(key, cost, rule)),
        reset: (key) => later(() => tally.reset(key)),
      }
    },
    clean: () => later(() => inner.clean()),
    get size() {
      return later(() => inner.size)
    },
    close: async () => {},
  }
}

describe('at once', () => {
  test('a limiter in memory makes no promise, allowed or denied', () => {
    const { ask } = setUp({
      rules: parseRule('1/minute'),
      key: () => 'ada',
      cost: () => 1,
      charge: 'failed-response',
      onDenied: () => {},
    })
    for (let i = 0; i < 3; i++) expect(ask()).toBeInstanceOf(Response)
  })

  test('where one answer comes later, so does the response', async () => {
    const { ask } = setUp({ rules: parseRule('1/minute'), key: async () => 'ada' })
    expect(ask()).toBeInstanceOf(Promise)
    expect((await ask()).status).toBe(429)
  })
})

describe('bad options are refused when the middleware is made', () => {
  const rules = '5/minute'
  const limiter = createLimiter({ rules })
  test.each([
    ['nothing to count by', {}, 'fetchLimiter needs either limiter or rules, and has neither'],
    ['both', { rules, limiter }, 'fetchLimiter needs either limiter or rules, and has both'],
    ['a limiter that is none', { limiter: 5 }, 'limiter must be what createLimiter() makes, got 5'],
    ['a store for a limiter', { limiter, store: memoryStore() }, 'takes store and failure for rules: a limiter has its own'],
    ['an unknown option', { rules, onDenid: () => {} }, 'fetchLimiter has no option "onDenid": did you mean onDenied?'],
    ['a key that is no function', { rules, key: 'ip' }, 'fetchLimiter needs key to be a function, got "ip"'],
    ['a cost of a half', { rules, cost: 0.5 }, 'cost must be a whole number of at least 1'],
    ['a cost that is a text', { rules, cost: '2' }, 'fetchLimiter needs cost to be a whole number or a function, got "2"'],
    ['an unknown mode', { rules, mode: 'dry' }, "fetchLimiter needs mode to be 'enforce', 'shadow', got \"dry\""],
    [
      'an unknown charge',
      { rules, charge: 'never' },
      "needs charge to be 'request', 'failed-response', 'successful-response' or",
    ],
    ['a shadow that nobody hears of', { rules, mode: 'shadow' }, "needs onShadowDenied in mode 'shadow'"],
    ['unknown headers', { rules, headers: 'draft-9' }, 'headers must be'],
    ['unknown headers, for plans', { rules: () => rules, headers: 'draft-9' }, 'headers must be'],
    ['a network that is none', { rules, block: { addresses: ['10.0.0.0/99'] } }, "a network's length must be"],
    [
      'keys that are none',
      { rules, allow: { keys: 'ada' } },
      'fetchLimiter: allow needs keys to be a list of strings, got "ada"',
    ],
    ['a list with an unknown name', { rules, allow: { ips: [] } }, 'fetchLimiter: allow has no option "ips"'],
    ['trust in everybody', { rules, address: { trustProxy: true } }, 'trustProxy must be'],
    ['an unknown option of the address', { rules, address: { trustProxies: 1 } }, 'did you mean trustProxy?'],
    [
      'a peer that is no function',
      { rules, address: { peer: 'x' } },
      'fetchLimiter needs address.peer to be a function, got "x"',
    ],
    ['rules that cannot be read', { rules: parseRule('5/fortnight') }, 'fortnight'],
    ['no limits', { limits: [] }, 'fetchLimiter needs limits to be a list of at least one, got an array'],
    ['limits beside rules', { rules, limits: [{ rules }] }, 'fetchLimiter takes rules inside of limits, or no limits'],
    ['a limit without rules', { limits: [{ key: () => 'x' }] }, 'fetchLimiter: a limit needs either limiter or rules'],
    ['two limits with one name', { limits: [{ rules }, { rules }] }, 'two limits have a rule called "fixed-window:5/1m"'],
  ])('%s', (_, options, message) => {
    expect(() => fetchLimiter(options as Options)).toThrow(message)
  })
})

describe('plans', () => {
  const plan = (limit: number) => fixedWindow({ limit, window: '1m', name: 'plan' })

  test('rules that are made anew for each request are one plan', async () => {
    const { ask } = setUp({ rules: () => [plan(2), '9/hour'] })
    expect([(await ask()).status, (await ask()).status, (await ask()).status]).toEqual([200, 200, 429])
  })

  test('rules that differ in a number are two, and share what is used under the same name', async () => {
    const { ask } = setUp({ rules: ({ headers }) => plan(Number(headers.get('limit'))) })
    const remaining = async (limit: number) => (await ask({ limit: `${limit}` })).headers.get('RateLimit')
    expect(await remaining(5)).toBe('"plan";r=4;t=60')
    expect(await remaining(100)).toBe('"plan";r=98;t=60')
  })

  test('a thousand plans are kept, and those beyond lose no count', async () => {
    const { ask } = setUp({ rules: ({ headers }) => `${headers.get('limit')}/minute` })
    for (let limit = 2; limit <= 1500; limit++) await ask({ limit: `${limit}` })
    expect((await ask({ limit: '2' })).headers.get('RateLimit')).toBe('"fixed-window:2/1m";r=0;t=60')
  })

  test('what is no rule is an error of the request', () => {
    expect(() => setUp({ rules: () => undefined as unknown as string }).ask()).toThrow(/rule/)
    expect(() => setUp({ rules: () => 'ten' }).ask()).toThrow('ten')
    expect(() => setUp({ rules: () => [null] as unknown as string }).ask()).toThrow('got null')
  })
})

describe('several keys in one decision', () => {
  const limits = [
    { rules: tokenBucket({ capacity: 5, refill: 1, every: '1m', name: 'address' }) },
    {
      rules: fixedWindow({ limit: 2, window: '1h', name: 'account' }),
      key: ({ headers }: Request) => headers.get('account') ?? '',
    },
  ]

  test.each([
    ['in memory', memoryStore({ clock: fakeClock() })],
    ['far away', laterStore()],
  ])('what one denies costs nothing of the other, %s', async (_, store) => {
    const { ask } = setUp({ limits, store })
    const login = async (account: string) => (await ask({ account })).headers.get('RateLimit')
    await login('ada')
    await login('ada')
    for (let i = 0; i < 9; i++) expect(await login('ada')).toBe('"account";r=0;t=3600')
    expect(await login('bob')).toBe('"address";r=2;t=180, "account";r=1;t=3600')
  })

  test('of several denials, the one with the longest wait is told', async () => {
    const { ask } = setUp({
      limits: [
        { rules: fixedWindow({ limit: 1, window: '1m', name: 'short' }) },
        { rules: fixedWindow({ limit: 1, window: '1h', name: 'long' }), key: () => 'all' },
      ],
    })
    await ask()
    const denied = await ask()
    expect(denied.headers.get('Retry-After')).toBe('3600')
    expect((await denied.json())['violated-policies']).toEqual(['long'])
  })

  test('a denial is told, also if a limit that allows has less left', async () => {
    const { ask } = setUp({
      limits: [
        { rules: fixedWindow({ limit: 1, window: '1m', name: 'allows' }) },
        { rules: fixedWindow({ limit: 5, window: '1h', name: 'denies' }), cost: 6 },
      ],
    })
    const denied = await ask()
    expect(denied.status).toBe(429)
    expect((await denied.json())['violated-policies']).toEqual(['denies'])
  })

  test('legacy fields are those of the limit with less room', async () => {
    const { ask } = setUp({ limits, headers: 'legacy' })
    expect((await ask({ account: 'ada' })).headers.get('X-RateLimit-Limit')).toBe('2')
  })

  test('a cost that cannot be is refused before any of them is charged', async () => {
    let cost = -1
    const rule = (name: string) => fixedWindow({ limit: 5, window: '1m', name })
    const { ask } = setUp({ limits: [{ rules: rule('a') }, { rules: rule('b'), cost: () => cost }] })
    await expect((async () => ask())()).rejects.toMatchObject({ code: 'ERR_COST' })
    cost = 1
    expect((await ask()).headers.get('RateLimit')).toBe('"a";r=4;t=60, "b";r=4;t=60')
  })

  test('an error of one key while the other is still being looked up leaves no rejection behind', async () => {
    const rejections: unknown[] = []
    const listener = (reason: unknown) => rejections.push(reason)
    process.on('unhandledRejection', listener)
    const { ask } = setUp({
      limits: [
        { rules: fixedWindow({ limit: 1, window: '1m', name: 'a' }), key: () => Promise.reject(new Error('later')) },
        {
          rules: fixedWindow({ limit: 1, window: '1m', name: 'b' }),
          key: () => {
            throw new Error('at once')
          },
        },
      ],
    })
    await expect(ask()).rejects.toThrow()
    await new Promise(setImmediate)
    process.off('unhandledRejection', listener)
    expect(rejections).toEqual([])
  })
})

describe('mounted twice', () => {
  const warnings: string[] = []
  const options: Options = { rules: parseRule('5/minute'), warn: ({ code }) => warnings.push(code), address: { trustProxy: 0 } }
  const twice = (first: Options, second: Options) => {
    const inner = fetchLimiter(second)((_request: Request, _info: unknown) => new Response())
    return fetchLimiter(first)(inner)
  }
  const field = async (handler: ReturnType<typeof twice>, request = new Request('http://localhost/')) => {
    warnings.length = 0
    return (await handler(request, DENO)).headers.get('RateLimit')
  }

  test('two that count under the same names in one store count once', async () => {
    const store = memoryStore({ clock: fakeClock() })
    expect(await field(twice({ ...options, store }, { ...options, store }))).toBe('"fixed-window:5/1m";r=4;t=60')
    expect(warnings).toEqual(['WARN_MOUNTED_TWICE'])
  })

  test('two with stores of their own, with other names or with other keys are two limiters', async () => {
    const store = memoryStore({ clock: fakeClock() })
    const named = { ...options, rules: fixedWindow({ limit: 5, window: '1m', name: 'other' }), store }
    expect(await field(twice(options, options))).toMatch(/, /)
    expect(await field(twice({ ...options, store }, named))).toMatch(/"other".*, /)
    expect(await field(twice({ ...options, store }, { ...options, store, key: () => 'x' }))).toMatch(/, /)
    expect(warnings).toEqual([])
  })

  test('the same request may be handled again, later', async () => {
    const handler = fetchLimiter({ ...options, store: memoryStore({ clock: fakeClock() }) })(
      (_: Request, _info: unknown) => new Response(),
    )
    const request = new Request('http://localhost/')
    await handler(request, DENO)
    expect((await handler(request, DENO)).headers.get('RateLimit')).toBe('"fixed-window:5/1m";r=3;t=60')
  })

  test('a request whose key could not be found was not here', async () => {
    let isBroken = true
    const key = () => {
      if (isBroken) throw new Error('no user')
      return 'ada'
    }
    const handler = fetchLimiter({ ...options, key })((_: Request, _info: unknown) => new Response())
    const request = new Request('http://localhost/')
    expect(() => handler(request, DENO)).toThrow('no user')
    isBroken = false
    expect((await handler(request, DENO)).headers.get('RateLimit')).toMatch(/r=4/)
  })
})

describe('lists', () => {
  test('block goes before allow', async () => {
    const { ask } = setUp({
      rules: parseRule('5/minute'),
      allow: { addresses: ['203.0.113.0/24'] },
      block: { addresses: ['203.0.113.9'] },
    })
    expect((await ask()).status).toBe(403)
  })

  test.each([
    ['64:ff9b::203.0.113.9', {}, 403, 429],
    ['64:ff9b::203.0.113.10', {}, 429, 429],
    ['64:ff9b:1:fffe::203.0.113.9', {}, 429, 429],
    ['64:ff9b:1:fffe::203.0.113.9', { nat64: ['64:ff9b:1:fffe::/96'] }, 403, 200],
    ['::ffff:203.0.113.9', {}, 403, 200],
  ])('behind a translator, %s with %j: block answers %i, allow %i', async (peer, nat64, blocked, allowed) => {
    const clients = { addresses: ['203.0.113.9'], ...nat64 }
    const limited = { rules: parseRule('1/minute'), address: { peer: () => peer } }
    const second = async (options: object) => {
      const { ask } = setUp({ ...limited, ...options })
      await ask()
      return (await ask()).status
    }
    expect(await second({ block: clients })).toBe(blocked)
    expect(await second({ allow: clients })).toBe(allowed)
  })

  test('who is allowed is not counted', async () => {
    const limiter = createLimiter({ rules: parseRule('1/minute') })
    const { ask } = setUp({ limiter, allow: { addresses: ['203.0.113.9'] } })
    for (let i = 0; i < 3; i++) expect((await ask()).status).toBe(200)
    expect(limiter.get('203.0.113.9')).toBe(0)
  })

  test('onDenied hears of the blocked, without a decision', async () => {
    const heard: unknown[] = []
    const { ask } = setUp({
      rules: parseRule('5/minute'),
      block: { keys: ['203.0.113.9'] },
      onDenied: ({ key, decision, address, denial }) => {
        heard.push([key, decision, address.text, denial.status])
      },
    })
    expect((await ask()).status).toBe(403)
    expect(heard).toEqual([['203.0.113.9', undefined, '203.0.113.9', 403]])
  })
})
