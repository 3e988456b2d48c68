// Holds over HTTP: reserve, settle, cancel, extend, their tokens, and what they leave in usage, metrics and the audit log.

import { describe, expect, test } from 'vitest'
import { advance, START, startService, type TestService } from './running-service.ts'

const OK = { message: 'success', code: 200, status: 'ok' }

const LLM = {
  client: 'ada',
  rules: [
    { algorithm: 'fixed-window', limit: 60, window: '1m', name: 'requests' },
    { algorithm: 'token-bucket', capacity: 10_000, refill: 10_000, every: '1h', name: 'tokens' },
    { algorithm: 'concurrency', limit: 2, ttl: '30s', name: 'places' },
  ],
}

const BUDGET = { client: 'ada', rules: { algorithm: 'fixed-window', limit: 100, window: '1h', name: 'tokens' } }

async function withPolicy(policy: object, flags: Record<string, string> = {}) {
  const service = await startService({ flags })
  expect((await service.call('PUT', '/v1/policies/own', policy)).status).toBe(201)
  return { ...service, ...callsOf(service) }
}

function callsOf({ call }: Pick<TestService, 'call'>) {
  const post = async (path: string, body: object, headers?: Record<string, string>) => call('POST', path, body, headers)
  const reserve = async (body: object = {}) => (await post('/v1/reserve', { client_id: 'ada', route: '/a', ...body })).body.data
  const used = async (route = '/a') => {
    const { rules } = (await call('GET', `/v1/usage?client_id=ada&route=${route}`)).body.data
    return Object.fromEntries(rules.map((rule: { name: string; used: number }) => [rule.name, rule.used]))
  }
  return { post, reserve, used }
}

const time = (ms: number): string => new Date(START + ms).toISOString()

const WRONG: readonly (readonly [object | string, string])[] = [
  [{}, 'hold must be units of at least one rule'],
  [{ hold: 0 }, 'hold must be a whole number of at least 1, got 0'],
  [{ hold: 1.5 }, 'hold must be a whole number of at least 1, got 1.5'],
  [{ hold: '5' }, 'hold must be a whole number of at least 1, or an object of whole numbers by rule name, got "5"'],
  [{ hold: null }, 'hold must be'],
  [{ hold: [5] }, 'hold must be'],
  [{ hold: { tokens: -1 } }, 'hold.tokens must be a whole number of at least 0, got -1'],
  [{ hold: { tokens: '5' } }, 'hold.tokens must be a whole number of at least 0, got "5"'],
  [{ hold: { words: 5 } }, '"words"'],
  [{ hold: { tokens: 0 } }, 'at least 1'],
  [{ hold: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`r${i}`, 1])) }, 'hold must have 16 members at most'],
  [{ hold: 5, cost: 2 ** 53 }, 'cost must be a whole number'],
  [{ hold: 5, ttl: '5' }, 'ttl must be a duration'],
  [{ hold: 5, ttl: 0 }, 'ttl must be a duration'],
  [{ hold: 5, ttl: '9999999999999999d' }, 'ttl must be'],
  [{ hold: 5, ttl: '8d' }, "ttl must be at most '7d'"],
  [{ hold: 5, expired: 'lose' }, 'expired must be "charge" or "release", got "lose"'],
  [{ hold: 5, max_wait_ms: 5 }, 'it has no "max_wait_ms"'],
  ['{"client_id":"ada","route":"/a","hold":{"__proto__":1}}', '__proto__'],
  ['{"client_id":"ada"', 'the body is not JSON'],
]

describe('POST /v1/reserve', () => {
  test('answers with the decision, the token, the held units and their end', async () => {
    const { post, used } = await withPolicy(LLM)
    const { status, body, headers } = await post('/v1/reserve', { client_id: 'ada', route: '/a', hold: { tokens: 4000 } })
    expect(status).toBe(200)
    expect(body).toEqual({
      meta: OK,
      data: {
        status: 'Allow',
        limit: 2,
        remain: 1,
        reset_in_second: 30,
        policy: 'own',
        rule: 'places',
        token: expect.stringMatching(/^hold1_[0-9A-Za-z]{12}_[\w-]+$/),
        granted: { tokens: 4000, places: 1 },
        expires_at: time(30_000),
      },
    })
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(headers.get('ratelimit')).toContain('"places";r=1')
    expect(await used()).toEqual({ requests: 1, tokens: 4000, places: 1 })
  })

  test('denies with 200, charges nothing, and has the time to wait', async () => {
    const { post, reserve, used } = await withPolicy(LLM)
    await reserve({ ttl: '10s' })
    await reserve({ ttl: '20s' })
    const denied = await post('/v1/reserve', { client_id: 'ada', route: '/a' })
    expect(denied.status).toBe(200)
    expect(denied.body.data).toEqual({
      status: 'Deny',
      limit: 2,
      remain: 0,
      reset_in_second: 20,
      retryable: true,
      retry_after_ms: 10_000,
      policy: 'own',
      rule: 'places',
    })
    expect(denied.headers.get('retry-after')).toBe('10')
    expect(await used()).toEqual({ requests: 2, tokens: 2, places: 2 })
    expect(await reserve({ hold: { tokens: 10_001 } })).toMatchObject({
      status: 'Deny',
      limit: 10_000,
      retryable: false,
      retry_after_ms: null,
    })
  })

  test('at_least takes what is left', async () => {
    const { reserve } = await withPolicy(BUDGET)
    await reserve({ hold: 70 })
    expect(await reserve({ hold: 50, at_least: 31 })).toMatchObject({ status: 'Deny' })
    expect(await reserve({ hold: 50, at_least: { tokens: 20 } })).toMatchObject({ status: 'Allow', granted: { tokens: 30 } })
  })

  test('a hold that nobody ends is charged at its end, or released', async () => {
    const { reserve, used } = await withPolicy(BUDGET)
    await reserve({ hold: 10, ttl: '10s' })
    await reserve({ hold: 20, ttl: 10_000, expired: 'release' })
    expect(await used()).toEqual({ tokens: 30 })
    advance(10_000)
    expect(await used()).toEqual({ tokens: 10 })
  })

  test('refuses wrong input, and holds nothing', async () => {
    const { call, used } = await withPolicy(BUDGET)
    for (const [body, message] of WRONG) {
      const sent = typeof body === 'string' ? body : { client_id: 'ada', route: '/a', ...body }
      const answer = await call('POST', '/v1/reserve', sent)
      expect(answer.status, message).toBe(400)
      expect(answer.body).toMatchObject({ meta: { code: 400, status: 'error', error: 'ERR_INPUT' }, data: null })
      expect(answer.body.meta.message).toContain(message)
    }
    expect(await used()).toEqual({ tokens: 0 })
  })

  test('a flood of holds is bounded for each counter, and the others are not affected', async () => {
    const { post, reserve } = await withPolicy(BUDGET, { maxHolds: '3' })
    for (let i = 0; i < 3; i++) expect((await reserve({ hold: 1 })).status).toBe('Allow')
    for (let i = 0; i < 5; i++) {
      const { status, body } = await post('/v1/reserve', { client_id: 'ada', route: '/a', hold: 1 })
      expect([status, body.meta.error, body.data]).toEqual([429, 'ERR_HOLDS', null])
    }
    expect((await reserve({ route: '/b', hold: 1 })).status).toBe('Allow')
    advance(60_000)
    expect((await reserve({ hold: 1 })).status).toBe('Allow')
  })
})

describe('a hold ends once', () => {
  test('settled for less, the rest is free at once', async () => {
    const { post, reserve, used } = await withPolicy(LLM)
    const { token } = await reserve({ hold: { tokens: 4000 } })
    const settled = await post('/v1/settle', { token, used: { tokens: 812 } })
    expect(settled.status).toBe(200)
    expect(settled.body).toEqual({
      meta: OK,
      data: { client_id: 'ada', route: '/a', policy: 'own', used: { tokens: 812, places: 1 } },
    })
    expect(await used()).toEqual({ requests: 1, tokens: 812, places: 0 })
  })

  test('settled for more, or without a number, is charged past the limit or in full', async () => {
    const { post, reserve, used } = await withPolicy(BUDGET)
    const [first, second] = [await reserve({ hold: 40 }), await reserve({ hold: 40 })]
    expect((await post('/v1/settle', { token: first.token })).body.data.used).toEqual({ tokens: 40 })
    expect((await post('/v1/settle', { token: second.token, used: 75 })).body.data.used).toEqual({ tokens: 75 })
    expect(await used()).toEqual({ tokens: 100 })
    expect(await reserve({ hold: 1 })).toMatchObject({ status: 'Deny', remain: 0 })
  })

  test('cancelled, nothing is charged', async () => {
    const { post, reserve, used } = await withPolicy(BUDGET)
    const { token } = await reserve({ hold: 40 })
    expect((await post('/v1/cancel', { token })).body).toEqual({
      meta: OK,
      data: { client_id: 'ada', route: '/a', policy: 'own' },
    })
    expect(await used()).toEqual({ tokens: 0 })
  })

  test('extended, it expires later', async () => {
    const { post, reserve, used } = await withPolicy(BUDGET)
    const { token } = await reserve({ hold: 40, ttl: '10s', expired: 'release' })
    advance(9000)
    const extended = await post('/v1/extend', { token, ttl: '10s' })
    expect(extended.body.data).toEqual({ client_id: 'ada', route: '/a', policy: 'own', expires_at: time(19_000) })
    advance(9999)
    expect(await used()).toEqual({ tokens: 40 })
    advance(1)
    expect(await used()).toEqual({ tokens: 0 })
    expect((await post('/v1/extend', { token, ttl: '10s' })).body.meta.error).toBe('ERR_HOLD')
  })

  test.each([
    ['settle', { used: 5 }],
    ['cancel', {}],
  ])('a second end after a %s is refused with a code of its own, and charges nothing', async (first, more) => {
    const { post, reserve, used } = await withPolicy(BUDGET)
    const { token } = await reserve({ hold: 40 })
    expect((await post(`/v1/${first}`, { token, ...more })).status).toBe(200)
    const before = await used()
    for (const [path, body] of [
      ['settle', { used: 90 }],
      ['cancel', {}],
      ['extend', { ttl: '1m' }],
    ] as const) {
      const { status, body: answer } = await post(`/v1/${path}`, { token, ...body })
      expect([status, answer.meta.error, answer.data]).toEqual([409, 'ERR_HOLD', null])
    }
    expect(await used()).toEqual(before)
  })

  test('of a hundred settles at once, one wins', async () => {
    const { post, reserve, used } = await withPolicy(BUDGET)
    const { token } = await reserve({ hold: 40 })
    const answers = await Promise.all(Array.from({ length: 100 }, () => post('/v1/settle', { token, used: 3 })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ body }) => body.meta.error === 'ERR_HOLD')).toHaveLength(99)
    expect(await used()).toEqual({ tokens: 3 })
  })

  test('a settle with a wrong amount is refused, and the hold stays open', async () => {
    const { post, reserve, used } = await withPolicy(BUDGET)
    const { token } = await reserve({ hold: 40 })
    for (const wrong of [-1, 1.5, '3', { tokens: -1 }, { other: 1 }, null]) {
      expect((await post('/v1/settle', { token, used: wrong })).body.meta.error, JSON.stringify(wrong)).toBe('ERR_INPUT')
    }
    expect((await post('/v1/settle', { token, used: 0 })).status).toBe(200)
    expect(await used()).toEqual({ tokens: 0 })
  })
})

test('a hold in memory survives a restart, and is settled with the same token', async () => {
  const { folder, key, post, reserve, close } = await withPolicy(LLM)
  const [first, second] = [await reserve({ hold: { tokens: 400 } }), await reserve({ hold: { tokens: 400 } })]
  expect((await post('/v1/settle', { token: second.token })).status).toBe(200)
  await close()
  const again = await startService({ folder, key })
  const { used, ...calls } = callsOf(again)
  expect(await used()).toEqual({ requests: 2, tokens: 800, places: 1 })
  expect((await calls.post('/v1/settle', { token: first.token, used: { tokens: 1 } })).status).toBe(200)
  expect((await calls.post('/v1/settle', { token: second.token })).body.meta.error).toBe('ERR_HOLD')
  expect(await used()).toEqual({ requests: 2, tokens: 401, places: 0 })
})

describe('policies', () => {
  test('a concurrency rule whose places would be kept for more than a week is refused', async () => {
    const { call } = await startService()
    const rules = [LLM.rules[0], { ...LLM.rules[2], ttl: '8d' }]
    const { status, body } = await call('PUT', '/v1/policies/own', { client: 'ada', rules })
    expect([status, body.meta.problems?.[0].at]).toEqual([400, 'rules[1].ttl'])
    expect((await call('PUT', '/v1/policies/own', { client: 'ada', rules: { ...LLM.rules[2], ttl: '7d' } })).status).toBe(201)
  })

  test('a check under a concurrency rule is refused, and says to reserve', async () => {
    const { call, post, used } = await withPolicy(LLM)
    const check = { client_id: 'ada', route: '/a' }
    for (const path of ['/v1/check', '/v1/chec%6B']) {
      const { status, body } = await post(path, check)
      expect([status, body.meta.error, body.data]).toEqual([409, 'ERR_NEEDS_RESERVE', null])
      expect(body.meta.message).toContain('POST /v1/reserve')
    }
    const batch = await post('/v1/check/batch', { checks: [{ client_id: 'bob', route: '/a' }, check] })
    expect(batch.body.data.results).toEqual([
      expect.objectContaining({ status: 'Allow' }),
      { status: 'Error', error: 'ERR_NEEDS_RESERVE', message: expect.stringContaining('reserve') },
    ])
    expect((await call('GET', '/v1/authorize?client=ada&route=/a')).body.meta.error).toBe('ERR_NEEDS_RESERVE')
    expect(await used()).toEqual({ requests: 0, tokens: 0, places: 0 })
  })

  test('in shadow mode a denial is allowed and holds nothing; off holds nothing', async () => {
    const { call, post, reserve, used } = await withPolicy({ ...BUDGET, mode: 'shadow' })
    const held = await reserve({ hold: 80 })
    const shadowed = await reserve({ hold: 80 })
    expect(shadowed).toMatchObject({ status: 'Allow', shadow_denied: true, granted: {}, expires_at: null })
    expect(shadowed).not.toHaveProperty('retry_after_ms')
    expect((await post('/v1/settle', { token: shadowed.token, used: 80 })).body.data.used).toEqual({})
    expect(await used()).toEqual({ tokens: 80 })
    await call('PUT', '/v1/policies/own', { ...LLM, mode: 'off' })
    const free = await reserve({ hold: 80 })
    expect(free).toMatchObject({ status: 'Allow', granted: {}, expires_at: null })
    for (const path of ['extend', 'cancel']) {
      expect((await post(`/v1/${path}`, { token: free.token, ...(path === 'extend' && { ttl: 5 }) })).status).toBe(200)
    }
    await call('PUT', '/v1/policies/own', BUDGET)
    expect((await post('/v1/settle', { token: held.token, used: 5 })).status).toBe(200)
    expect(await used()).toEqual({ tokens: 5 })
  })

  test('a hold survives a change of numbers, of scope and of its policy', async () => {
    const { call, post, reserve, used } = await withPolicy(BUDGET)
    const holds = [await reserve({ hold: 10 }), await reserve({ hold: 10 }), await reserve({ hold: 10 })]
    const settle = async () => (await post('/v1/settle', { token: holds.pop().token, used: 1 })).status
    await call('PUT', '/v1/policies/own', { ...BUDGET, rules: { ...BUDGET.rules, limit: 50 } })
    expect(await settle()).toBe(200)
    expect(await used()).toEqual({ tokens: 21 })
    await call('PUT', '/v1/policies/own', { ...BUDGET, scope: 'policy' })
    expect(await settle()).toBe(200)
    expect(await used()).toEqual({ tokens: 0 })
    await call('DELETE', '/v1/policies/own')
    await call('PUT', '/v1/policies/wider', { ...BUDGET, client: 'a*', rules: ['5/minute', BUDGET.rules] })
    expect(await settle()).toBe(200)
    expect(await used()).toMatchObject({ tokens: 3 })
  })

  test('with scope policy a hold counts on all routes, and can be settled after the scope changed', async () => {
    const { call, post, reserve, used } = await withPolicy({ ...BUDGET, scope: 'policy' })
    const { token } = await reserve({ hold: 60 })
    expect(await reserve({ route: '/b', hold: 60 })).toMatchObject({ status: 'Deny', remain: 40 })
    await call('PUT', '/v1/policies/own', BUDGET)
    expect((await post('/v1/settle', { token, used: 5 })).status).toBe(200)
    await call('PUT', '/v1/policies/own', { ...BUDGET, scope: 'policy' })
    expect(await used('/c')).toEqual({ tokens: 5 })
  })

  test('a rule that was removed meanwhile is left out; without any of its rules the hold cannot be settled', async () => {
    const { call, post, reserve, used } = await withPolicy(LLM)
    const [first, second] = [await reserve({ hold: { tokens: 100 } }), await reserve({ hold: { tokens: 100 } })]
    await call('PUT', '/v1/policies/own', { ...LLM, rules: LLM.rules.slice(0, 2) })
    expect((await post('/v1/settle', { token: first.token, used: { tokens: 7 } })).body.data.used).toEqual({ tokens: 7 })
    expect(await used()).toMatchObject({ tokens: 107 })
    await call('PUT', '/v1/policies/own', { ...LLM, rules: LLM.rules[0] })
    expect((await post('/v1/settle', { token: second.token })).body.meta.error).toBe('ERR_HOLD')
  })

  test('a layer that was deleted meanwhile may be named: the rest is settled', async () => {
    const { call, post } = await withPolicy(BUDGET)
    const layer = { ...BUDGET, client: '*', applies: 'always', per: 'org' }
    await call('PUT', '/v1/policies/org', layer)
    const facts = { client_id: 'ada', route: '/a', attributes: { org: 'acme' } }
    const { token, granted } = (await post('/v1/reserve', { ...facts, hold: 60 })).body.data
    expect(granted).toEqual({ tokens: 60, 'org/tokens': 60 })
    await call('DELETE', '/v1/policies/org')
    expect((await post('/v1/settle', { token, used: { tokens: 5, 'org/none': 5 } })).status).toBe(400)
    const { status, body } = await post('/v1/settle', { token, used: { tokens: 5, 'org/tokens': 7 } })
    expect([status, body.data]).toMatchObject([200, { used: { tokens: 5 } }])
  })

  test('a rule of another algorithm has another state, so a hold that names it is refused and expires', async () => {
    const { call, post, reserve, used } = await withPolicy(LLM)
    const { token } = await reserve({ hold: { tokens: 100 } })
    await call('PUT', '/v1/policies/own', { ...LLM, rules: [LLM.rules[0], { ...BUDGET.rules, name: 'tokens' }, LLM.rules[2]] })
    expect((await post('/v1/settle', { token })).body.meta.error).toBe('ERR_HOLD')
    expect(await used()).toEqual({ requests: 1, tokens: 0, places: 1 })
    advance(30_000)
    expect(await used()).toEqual({ requests: 1, tokens: 0, places: 0 })
  })
})
