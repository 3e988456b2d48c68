import { describe, expect, test } from 'vitest'
import { DENO, limitedHandler, NO_PROXY, type Options } from '../../../test/middleware/limited-handler.ts'
import { promiseStore } from '../../../test/promise-store.ts'
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts'
import { parseRule } from '../../algorithms/parse-rule.ts'
import { createLimiter } from '../../create-limiter.ts'
import { clientList } from '../../http/client-list.ts'
import { legacyStyle } from '../../http/earlier-styles.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { failingStore } from '../../testing/failing-store.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { fetchLimiter } from '../fetch.ts'
import { chargeByResponse, rulesByRequest } from '../requests.ts'

describe('values that are there at once', () => {
  test('a limiter in memory makes no promise, allowed or denied', () => {
    const { ask } = limitedHandler({
      rules: rulesByRequest(() => parseRule('1/minute')),
      key: () => 'ada',
      cost: () => 1,
      charge: chargeByResponse('failed-response'),
      onDenied: () => {},
    })
    for (let i = 0; i < 3; i++) expect(ask()).toBeInstanceOf(Response)
  })

  test('if one value comes later, so does the response', async () => {
    const { ask } = limitedHandler({ rules: parseRule('1/minute'), key: async () => 'ada' })
    expect(ask()).toBeInstanceOf(Promise)
    expect((await ask()).status).toBe(429)
  })
})

describe('plans', () => {
  const plan = (limit: number) => fixedWindow({ limit, window: '1m', name: 'plan' })

  test('rules that are made anew for each request are one plan', async () => {
    const { ask } = limitedHandler({ rules: rulesByRequest(() => [plan(2), parseRule('9/hour')]) })
    expect([(await ask()).status, (await ask()).status, (await ask()).status]).toEqual([200, 200, 429])
  })

  test('rules that differ in a number are two, and share what is used under the same name', async () => {
    const { field } = limitedHandler({ rules: rulesByRequest(({ headers }) => plan(Number(headers.get('limit')))) })
    expect(await field({ limit: '5' })).toBe('"plan";r=4;t=60')
    expect(await field({ limit: '100' })).toBe('"plan";r=98;t=60')
  })

  test('rules that differ in what they count by are two', async () => {
    const rules = ({ headers }: Request) =>
      fixedWindow({ limit: 5, window: '1m', name: 'plan', per: headers.get('per') === 'nobody' ? [] : 'address' })
    const { field } = limitedHandler({ rules: rulesByRequest(rules) })
    expect(await field()).toBe('"plan";r=4;t=60')
    expect(await field({ per: 'nobody' })).toBe('"plan";r=4;t=60')
  })

  test('a thousand plans are kept, and those beyond lose no count', async () => {
    const { field } = limitedHandler({
      rules: rulesByRequest(({ headers }) => fixedWindow({ limit: Number(headers.get('limit')), window: '1m' })),
    })
    for (let limit = 2; limit <= 1500; limit++) await field({ limit: `${limit}` })
    expect(await field({ limit: '2' })).toBe('"fixed-window:2/1m";r=0;t=60')
  })

  test.each([
    ['nothing', undefined, 'got undefined'],
    ['notation', '5/minute', 'parseRule() or others, got "5/minute"'],
    ['a list with null', [null], 'got null'],
  ])('%s instead of rules is an error of the request', (_, rules, message) => {
    expect(() => limitedHandler({ rules: rulesByRequest(() => rules as never) }).ask()).toThrow(message)
  })

  test('rules that count by more than the address need key', () => {
    const { ask } = limitedHandler({ rules: rulesByRequest(() => fixedWindow({ limit: 1, window: '1m', per: 'user' })) })
    expect(() => ask()).toThrow('fetchLimiter needs key to return { user }')
  })
})

describe('lists', () => {
  test('block goes before allow', async () => {
    const { ask } = limitedHandler({
      rules: parseRule('5/minute'),
      allow: clientList({ addresses: ['203.0.113.0/24'] }),
      block: clientList({ addresses: ['203.0.113.9'] }),
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
    const clients = clientList({ addresses: ['203.0.113.9'], ...nat64 })
    const second = async (options: Pick<Options, 'allow' | 'block'>) => {
      const { ask } = limitedHandler({ rules: parseRule('1/minute'), peer: () => peer, ...options })
      await ask()
      return (await ask()).status
    }
    expect(await second({ block: clients })).toBe(blocked)
    expect(await second({ allow: clients })).toBe(allowed)
  })

  test('the address is read only for a list of addresses, so lists of keys work on runtimes without addresses', async () => {
    const limitedBy = (options: Options) =>
      fetchLimiter({ rules: parseRule('1/minute'), key: ({ headers }: Request) => headers.get('user') ?? '', ...options })(
        (_request: Request) => new Response(),
      )
    const from = (user: string) => new Request('http://localhost/', { headers: { user } })
    const byKey = limitedBy({ allow: clientList({ keys: ['root'] }), block: clientList({ keys: ['mallory'] }) })
    for (let i = 0; i < 2; i++) expect((await byKey(from('root'))).status).toBe(200)
    expect((await byKey(from('mallory'))).status).toBe(403)
    expect([(await byKey(from('ada'))).status, (await byKey(from('ada'))).status]).toEqual([200, 429])
    const addresses = clientList({ addresses: ['203.0.113.9'], keys: ['root'] })
    for (const name of ['allow', 'block']) {
      expect(() => limitedBy({ [name]: addresses })(from('root'))).toThrow('cannot find the address of a request')
    }
  })

  test('a list that lacks only listsAddresses is asked for the address', async () => {
    const { listsAddresses: _, ...list } = clientList({ addresses: ['203.0.113.9'] })
    const block = list as ReturnType<typeof clientList>
    expect((await limitedHandler({ rules: parseRule('1/minute'), block }).ask()).status).toBe(403)
  })

  test.each(['allow', 'block'])(
    'an object that lacks members of a list is refused as %s, instead of blocking nobody',
    (option) => {
      const own = { hasAddress: () => true, hasKey: () => false }
      expect(() => limitedHandler({ rules: parseRule('1/minute'), [option]: own })).toThrow(
        expect.objectContaining({
          code: 'ERR_OPTION',
          option,
          message: expect.stringContaining('what clientList() of sluice/http makes'),
        }),
      )
    },
  )

  test('a client that is allowed is not counted', async () => {
    const limiter = createLimiter({ rules: parseRule('1/minute') })
    const { ask } = limitedHandler({ limiter, allow: clientList({ addresses: ['203.0.113.9'] }) })
    for (let i = 0; i < 3; i++) expect((await ask()).status).toBe(200)
    expect(limiter.get('203.0.113.9')).toBe(0)
  })

  test('any value of an object of keys matches', async () => {
    const { ask } = limitedHandler({
      rules: [
        fixedWindow({ limit: 1, window: '1m', per: 'user', name: 'user' }),
        fixedWindow({ limit: 1, window: '1m', per: 'org', name: 'org' }),
      ],
      key: ({ headers }) => ({ user: headers.get('user') ?? 'nobody', org: headers.get('org') ?? 'none' }),
      allow: clientList({ keys: ['root'] }),
      block: clientList({ keys: ['evil corp'] }),
    })
    for (let i = 0; i < 3; i++) expect((await ask({ user: 'root', org: 'acme' })).status).toBe(200)
    expect((await ask({ user: 'ada', org: 'evil corp' })).status).toBe(403)
    expect((await ask({ user: 'root', org: 'evil corp' })).status).toBe(403)
    expect((await ask({ user: 'ada', org: 'acme' })).status).toBe(200)
  })

  test('onDenied is called for blocked clients, without a decision', async () => {
    const heard: unknown[] = []
    const { ask } = limitedHandler({
      rules: parseRule('5/minute'),
      block: clientList({ keys: ['203.0.113.9'] }),
      onDenied: ({ key, decision, address, denial }) => {
        heard.push([key, decision, address.text, denial.status])
      },
    })
    expect((await ask()).status).toBe(403)
    expect(heard).toEqual([['203.0.113.9', undefined, '203.0.113.9', 403]])
  })
})

describe('shadow mode', () => {
  const shadow = { rules: parseRule('1/minute'), mode: 'shadow', onShadowDenied: () => {} } as const

  test.each([
    ['a key that is none', { key: () => '' }, 'ERR_KEY'],
    ['a cost that is none', { cost: () => -1 }, 'ERR_COST'],
    ['a cost of a rule that is none', { cost: () => ({ nothing: 1 }) }, 'ERR_RULE_NAME'],
  ])('%s is an error all the same', async (_, wrong, code) => {
    for (const store of [memoryStore(), promiseStore(fakeClock())]) {
      const { ask } = limitedHandler({ ...shadow, ...wrong, store })
      await expect((async () => ask())()).rejects.toMatchObject({ code })
    }
  })

  test('a limiter that cannot answer stops nobody', async () => {
    const limiter = createLimiter({ rules: parseRule('1/minute') })
    limiter.close()
    const { ask } = limitedHandler({ limiter, mode: 'shadow', onShadowDenied: () => {} })
    expect((await ask()).status).toBe(200)
  })
})

test('a charge function that throws keeps the charge, is reported once, and spoils no response', async () => {
  const warnings: string[] = []
  const { ask } = limitedHandler({
    rules: parseRule('5/minute'),
    charge: chargeByResponse(() => {
      throw new TypeError('no user')
    }),
    warn: ({ code, message }) => warnings.push(`${code}: ${message}`),
  })
  for (const left of [4, 3]) expect((await ask()).headers.get('RateLimit')).toContain(`r=${left};`)
  expect(warnings).toEqual([expect.stringMatching(/^WARN_CHARGE_FAILED: charge of fetchLimiter threw TypeError: no user/)])
})

describe('mounted twice', () => {
  const warnings: string[] = []
  const options: Options = { rules: parseRule('5/minute'), warn: ({ code }) => warnings.push(code), address: NO_PROXY }
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

  test('a rule that counts the request already is left out, and the others still count', async () => {
    const store = memoryStore({ clock: fakeClock() })
    const everybody = fixedWindow({ limit: 9, window: '1m', name: 'everybody', per: [] })
    const user = fixedWindow({ limit: 1, window: '1m', name: 'user', per: 'user' })
    const inner: Options = { ...options, rules: [everybody, user], key: () => ({ user: 'ada' }), store }
    const handler = twice({ ...options, rules: everybody, store }, inner)
    expect(await field(handler)).toBe('"user";r=0;t=60, "everybody";r=8;t=60')
    expect(warnings).toEqual(['WARN_MOUNTED_TWICE'])
    expect((await handler(new Request('http://localhost/'), DENO)).status).toBe(429)
    expect(createLimiter({ rules: everybody, store }).get({})).toBe(2)
  })

  test('fields about one limiter are not those of a limiter that counted nothing', async () => {
    const store = failingStore(fakeClock())
    store.plan = 'fatal'
    const unknown: Options = { ...options, rules: parseRule('2/minute'), headers: legacyStyle, store, failure: { then: 'allow' } }
    const known: Options = { ...options, headers: legacyStyle, store: memoryStore({ clock: fakeClock() }) }
    for (const handler of [twice(unknown, known), twice(known, unknown)]) {
      const { headers } = await handler(new Request('http://localhost/'), DENO)
      expect(headers.get('X-RateLimit-Limit')).toBe('5')
    }
  })

  test('a rule that cost 0 there has not counted the request', async () => {
    const store = memoryStore({ clock: fakeClock() })
    const everybody = fixedWindow({ limit: 9, window: '1m', name: 'everybody', per: [] })
    const address = fixedWindow({ limit: 9, window: '1m', name: 'address', per: 'address' })
    const outer: Options = { ...options, rules: [everybody, address], cost: { everybody: 0 }, store }
    expect(await field(twice(outer, { ...options, rules: everybody, store }))).toBe('"everybody";r=8;t=60, "address";r=8;t=60')
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

  test('a request whose key could not be found has not passed', async () => {
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
