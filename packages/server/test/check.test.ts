// Deciding over HTTP: the exact shapes, both spellings of the older endpoints, batches, keys and scopes.

import { describe, expect, test } from 'vitest'
import { advance, startService } from './running-service.ts'

const OK = { message: 'success', code: 200, status: 'ok' }

/** The policy and the rule of a check that no other policy covers. */
const SPEAKS = { policy: 'default', rule: 'rule-1' }

describe('POST /v1/check', () => {
  test('answers with exactly the documented body', async () => {
    const { call } = await startService()
    const { status, body, headers } = await call('POST', '/v1/check', { client_id: 'ada', route: '/orders' })
    expect(status).toBe(200)
    expect(body).toEqual({ meta: OK, data: { status: 'Allow', limit: 100, remain: 99, reset_in_second: 41, ...SPEAKS } })
    expect(Object.keys(body.data)).toEqual(['status', 'limit', 'remain', 'reset_in_second', 'policy', 'rule'])
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(headers.get('ratelimit-policy')).toBe('"rule-1";q=100;w=60')
    expect(headers.get('ratelimit')).toBe('"rule-1";r=99;t=41')
  })

  test('denies with 200, and has the time to wait', async () => {
    const { call } = await startService()
    await call('PUT', '/v1/policies/tight', { client: 'ada', rules: '2/hour' })
    for (const remain of [1, 0]) {
      const { body } = await call('POST', '/v1/check', { client_id: 'ada', route: '/orders' })
      expect(body.data).toMatchObject({ status: 'Allow', remain })
    }
    const { status, body, headers } = await call('POST', '/v1/check', { client_id: 'ada', route: '/orders' })
    expect(status).toBe(200)
    const numbers = { limit: 2, remain: 0, reset_in_second: 3600, retryable: true, retry_after_ms: 3_600_000 }
    expect(body).toEqual({ meta: OK, data: { status: 'Deny', ...numbers, policy: 'tight', rule: 'rule-1' } })
    expect(headers.get('retry-after')).toBe('3600')
  })

  test('rounds the seconds up, and starts again with the window', async () => {
    const { call } = await startService()
    const check = async () => (await call('POST', '/v1/check', { client_id: 'ada', route: '/a', cost: 100 })).body.data
    expect(await check()).toMatchObject({ status: 'Allow', reset_in_second: 41 })
    advance(40_001)
    expect(await check()).toMatchObject({ status: 'Deny', remain: 0, reset_in_second: 1 })
    advance(999)
    expect(await check()).toMatchObject({ status: 'Allow', reset_in_second: 60 })
  })

  test('spends the cost, and denies one that is above the limit', async () => {
    const { call } = await startService()
    expect((await call('POST', '/v1/check', { client_id: 'ada', route: '/a', cost: 60 })).body.data.remain).toBe(40)
    expect((await call('POST', '/v1/check', { client_id: 'ada', route: '/a', cost: 60 })).body.data).toMatchObject({
      status: 'Deny',
      remain: 40,
    })
    const { body, headers } = await call('POST', '/v1/check', { client_id: 'ada', route: '/a', cost: 101 })
    expect(body.data).toMatchObject({ status: 'Deny', retryable: false })
    expect(headers.get('retry-after')).toBeNull()
  })

  test('a wait that is longer than retryWithinMs is not worth a retry: answers, batches and proxies say so', async () => {
    const { call } = await startService({ flags: { retryWithinMs: '60000' } })
    await call('PUT', '/v1/policies/monthly', { client: 'ada', rules: '1/month' })
    await call('PUT', '/v1/policies/minute', { client: 'bob', rules: '1/minute' })
    await call('PUT', '/v1/policies/shadowed', { client: 'eve', rules: '1/month', mode: 'shadow' })
    const check = (client_id: string) => call('POST', '/v1/check', { client_id, route: '/a' })
    for (const client of ['ada', 'bob', 'eve']) expect((await check(client)).body.data).not.toHaveProperty('retryable')
    const spent = await check('ada')
    expect(spent.body.data).toMatchObject({ status: 'Deny', retryable: false, reset_in_second: 2_592_000 })
    expect(spent.headers.get('retry-after')).toBeNull()
    expect(spent.headers.get('ratelimit')).toBe('"rule-1";r=0;t=2592000')
    const busy = await check('bob')
    expect(busy.body.data).toMatchObject({ status: 'Deny', retryable: true })
    expect(busy.headers.get('retry-after')).not.toBeNull()
    expect((await check('eve')).body.data).toMatchObject({ status: 'Allow', shadow_denied: true })
    expect((await check('eve')).body.data).not.toHaveProperty('retryable')
    const checks = ['ada', 'bob', 'eve'].map((client_id) => ({ client_id, route: '/a' }))
    const batch = await call('POST', '/v1/check/batch', { checks })
    expect(batch.body.data.results).toMatchObject([
      { status: 'Deny', retryable: false, retry_after_ms: 2_592_000_000 },
      { status: 'Deny', retryable: true },
      { status: 'Allow' },
    ])
    const authorize = await call('GET', '/v1/authorize?client=ada&route=/a')
    expect([authorize.status, authorize.headers.get('retry-after')]).toEqual([429, null])
  })

  test('counts clients and routes separately, whatever their names contain', async () => {
    const { call } = await startService()
    const pairs = [
      ['ada', '/orders'],
      ['ada', '/orders/1'],
      ['ada/', 'orders'],
      ['ad', 'a/orders'],
      ['__proto__', 'constructor'],
      ['2:ada', '/x'],
      ['🦉', '/🦉'],
    ]
    for (const [client_id, route] of pairs) {
      expect((await call('POST', '/v1/check', { client_id, route })).body.data.remain).toBe(99)
    }
  })

  test.each([
    ['{}', 'client_id is missing'],
    ['{"client_id":"","route":"/a"}', 'client_id must be text of 1 to 256 characters, got ""'],
    ['{"client_id":5,"route":"/a"}', 'client_id must be text of 1 to 256 characters, got 5'],
    [`{"client_id":"${'a'.repeat(257)}","route":"/a"}`, 'client_id must be text of 1 to 256 characters'],
    ['{"client_id":"a","route":"/a","cost":0.5}', 'cost must be a whole number of at least 1, got 0.5'],
    ['{"client_id":"a","route":"/a","cost":-1000}', 'cost must be a whole number of at least 1, got -1000'],
    ['{"client_id":"a","route":"/a","cost":"1"}', 'cost must be a whole number of at least 1, got "1"'],
    ['{"client_id":"a","route":"/a","cost":9007199254740993}', 'cost must be a whole number of at least 1'],
    ['{"client_id":"a","route":"/a","clientid":"b"}', 'did you mean client_id?'],
    ['{"client_id":"a","route":"/a","__proto__":{}}', 'has no "__proto__"'],
    ['[]', 'must be'],
    ['null', 'must be'],
    ['{"client_id":', 'the body is not JSON'],
    ['', 'the body is not JSON: it is empty'],
    [`${'['.repeat(9)}${']'.repeat(9)}`, 'nested deeper than 8 levels'],
  ])('refuses %s', async (body, message) => {
    const { call } = await startService()
    const answer = await call('POST', '/v1/check', body)
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ meta: { code: 400, status: 'error', error: 'ERR_INPUT' }, data: null })
    expect(answer.body.meta.message).toContain(message)
  })

  test('a refused request counts nothing', async () => {
    const { call } = await startService()
    await call('POST', '/v1/check', { client_id: 'ada', route: '/a', cost: -5 })
    await call('POST', '/v1/check', { client_id: 'ada', route: '/a' }, { 'api-key': 'wrong' })
    expect((await call('POST', '/v1/check', { client_id: 'ada', route: '/a' })).body.data.remain).toBe(99)
  })
})

test('the check door and the route answer alike', async () => {
  const { call, key } = await startService()
  await call('PUT', '/v1/policies/shadowed', { client: 'shadow', rules: '1/hour', mode: 'shadow' })
  await call('PUT', '/v1/policies/off', { client: 'off', rules: '1/hour', mode: 'off' })
  await call('PUT', '/v1/policies/tight', { client: 'tight', rules: '1/hour; 5/day' })
  const json = { 'content-type': 'application/json' }
  const requests: [unknown, Record<string, string>][] = [
    [{ client_id: 'ada', route: '/a' }, {}],
    [{ client_id: 'ada', route: '/a', cost: 7 }, {}],
    [{ client_id: 'ada', route: '/a', cost: 1000 }, {}],
    [{ client_id: 'shadow', route: '/a' }, {}],
    [{ client_id: 'shadow', route: '/a' }, {}],
    [{ client_id: 'off', route: '/a' }, {}],
    [{ client_id: 'tight', route: '/a' }, {}],
    [{ client_id: 'tight', route: '/a' }, {}],
    [{ client_id: 'ada' }, {}],
    [{ client_id: 'ada', route: '/a', cost: 'x' }, {}],
    ['{', {}],
    ['', json],
    ['[[[[[[[[[1]]]]]]]]]', {}],
    ['x'.repeat(17_000), {}],
    [{ client_id: 'ada', route: '/a' }, { 'content-type': 'text/plain' }],
    [{ client_id: 'ada', route: '/a' }, { 'content-type': 'application/json; charset=utf-8' }],
    [{ client_id: 'ada', route: '/a' }, { 'content-type': 'application/jsonx' }],
    [{ client_id: 'ada', route: '/a' }, { 'api-key': '' }],
    [{ client_id: 'ada', route: '/a' }, { 'api-key': 'wrong' }],
    [
      { client_id: 'ada', route: '/a' },
      { 'api-key': '', authorization: `Bearer ${key}` },
    ],
  ]
  for (const [body, headers] of requests) {
    // First the route, which accepts any spelling, for one client; then the door for a similar client.
    const named = (suffix: string): unknown =>
      typeof body === 'object' ? { ...body, route: 'route' in (body as object) ? `/${suffix}` : undefined } : body
    const route = await call('POST', '/v1/chec%6B', named('route'), headers)
    const door = await call('POST', '/v1/check', named('door'), headers)
    const seen = ({ status, body: answered, headers: sent }: typeof route) => ({
      status,
      body: JSON.stringify(answered),
      headers: ['content-type', 'ratelimit', 'ratelimit-policy', 'retry-after', 'www-authenticate', 'connection'].map((name) =>
        sent.get(name),
      ),
    })
    expect(seen(door), JSON.stringify([body, headers]).slice(0, 200)).toEqual(seen(route))
  }
})

describe('policies decide', () => {
  test('the most specific one, immediately after a change, and usage is kept', async () => {
    const { call } = await startService()
    const check = async (client_id: string, route: string) => (await call('POST', '/v1/check', { client_id, route })).body.data
    await check('ada', '/orders')
    await call('PUT', '/v1/policies/ada', {
      client: 'ada',
      route: '/orders',
      rules: { algorithm: 'fixed-window', limit: 10, window: '60s', anchor: 'clock' },
    })
    expect(await check('ada', '/orders')).toMatchObject({ limit: 10, remain: 8 })
    await call('PUT', '/v1/policies/ada', {
      client: 'ada',
      route: '/orders',
      rules: { algorithm: 'fixed-window', limit: 20, window: '60s', anchor: 'clock' },
    })
    expect(await check('ada', '/orders')).toMatchObject({ limit: 20, remain: 17 })
    await call('DELETE', '/v1/policies/ada')
    expect(await check('ada', '/orders')).toMatchObject({ limit: 100, remain: 96 })
  })

  test('scope policy counts a client over all its routes', async () => {
    const { call } = await startService()
    await call('PUT', '/v1/policies/search', { route: '/search*', rules: '3/hour', scope: 'policy' })
    const check = async (client_id: string, route: string) => (await call('POST', '/v1/check', { client_id, route })).body.data
    expect(await check('ada', '/search/a')).toMatchObject({ remain: 2 })
    expect(await check('ada', '/search/b')).toMatchObject({ remain: 1 })
    expect(await check('bob', '/search/b')).toMatchObject({ remain: 2 })
  })

  test('shadow counts, allows and reports; off does not count', async () => {
    const { call } = await startService()
    await call('PUT', '/v1/policies/watch', { client: 'ada', rules: '1/hour', mode: 'shadow' })
    const check = async () => call('POST', '/v1/check', { client_id: 'ada', route: '/a' })
    const watch = { policy: 'watch', rule: 'rule-1' }
    expect((await check()).body.data).toEqual({ status: 'Allow', limit: 1, remain: 0, reset_in_second: 3600, ...watch })
    const shadowed = await check()
    expect(shadowed.body.data).toEqual({
      status: 'Allow',
      limit: 1,
      remain: 0,
      reset_in_second: 3600,
      shadow_denied: true,
      ...watch,
    })
    expect(shadowed.headers.get('retry-after')).toBeNull()
    await call('PUT', '/v1/policies/watch', { client: 'ada', rules: '1/hour', mode: 'off' })
    const off = await check()
    expect(off.body.data).toEqual({ status: 'Allow', limit: 1, remain: 1, reset_in_second: 0, ...watch })
    expect(off.headers.get('ratelimit')).toBeNull()
    await call('PUT', '/v1/policies/watch', { client: 'ada', rules: '1/hour', mode: 'enforce' })
    expect((await check()).body.data.status).toBe('Deny')
  })
})

describe('the older endpoints', () => {
  test('check and set, in their documented shapes', async () => {
    const { call } = await startService()
    const headers = { 'x-client-id': 'ada' }
    const first = await call('POST', '/api/v1/rate/fixed-window', { route: '/orders' }, headers)
    expect(first.body).toEqual({ meta: OK, data: { status: 'Allow', limit: 100, remain: 99, reset_in_second: 41, ...SPEAKS } })
    const set = await call('PUT', '/api/v1/rate/fixed-window/set', { route: '/orders', limit: 2, window: 3600 }, headers)
    expect(set.body).toEqual({ meta: OK, data: { client_id: 'ada', route: '/orders', limit: 2, window: 3600 } })
    expect((await call('POST', '/api/v1/rate/fixed-window', { route: '/orders' }, headers)).body.data).toMatchObject({
      limit: 2,
      remain: 0,
    })
    expect((await call('POST', '/api/v1/rate/fixed-window', { route: '/orders' }, headers)).body.data.status).toBe('Deny')
    // The same counter as in the newer form.
    expect((await call('POST', '/v1/check', { client_id: 'ada', route: '/orders' })).body.data.status).toBe('Deny')
  })

  test('setting twice changes the one policy, keeps its mode, and has a name that does not reveal the client', async () => {
    const { call } = await startService()
    const headers = { 'x-client-id': 'secret-client' }
    await call('PUT', '/api/v1/rate/fixed-window/set', { route: '/a', limit: 5, window: 60 }, headers)
    const { policies } = (await call('GET', '/v1/policies?search=secret-client')).body.data
    expect(policies).toHaveLength(1)
    expect(policies[0].name).toMatch(/^set-[0-9a-f]{24}$/)
    await call('PUT', `/v1/policies/${policies[0].name}`, { ...policies[0], source: undefined, etag: undefined, mode: 'shadow' })
    await call('PUT', '/api/v1/rate/fixed-window/set', { route: '/a', limit: 7, window: 60 }, headers)
    const after = (await call('GET', `/v1/policies/${policies[0].name}`)).body.data
    expect(after).toMatchObject({ mode: 'shadow', rules: [{ limit: 7 }] })
  })

  test.each([
    [{ route: '/a' }, {}, 'x-client-id is missing'],
    [{}, { 'x-client-id': 'ada' }, 'route is missing'],
    [{ route: '/a', limit: 0, window: 60 }, { 'x-client-id': 'ada' }, 'limit must be a whole number of at least 1, got 0'],
    [{ route: '/a', limit: 5, window: 1.5 }, { 'x-client-id': 'ada' }, 'window must be whole seconds'],
    [{ route: '/a*', limit: 5, window: 60 }, { 'x-client-id': 'ada' }, '"/a*" is a pattern for several'],
  ])('refuse %o %o', async (body, headers, message) => {
    const { call } = await startService()
    const path = 'limit' in body ? '/api/v1/rate/fixed-window/set' : '/api/v1/rate/fixed-window'
    const answer = await call('limit' in body ? 'PUT' : 'POST', path, body, headers as Record<string, string>)
    expect(answer.status).toBe(400)
    expect(answer.body.meta.message).toContain(message)
  })

  test('a client named in UTF-8 is the same in a header and in a body', async () => {
    const { call } = await startService()
    await call('POST', '/v1/check', { client_id: 'café', route: '/a' })
    const header = Buffer.from('café', 'utf8').toString('latin1')
    expect((await call('POST', '/api/v1/rate/fixed-window', { route: '/a' }, { 'x-client-id': header })).body.data.remain).toBe(
      98,
    )
    const latin1 = await call('POST', '/api/v1/rate/fixed-window', { route: '/a' }, { 'x-client-id': 'caf\xe9' })
    expect([latin1.status, latin1.body.meta.message]).toEqual([400, 'the headers: x-client-id is not UTF-8'])
    const limit = { route: '/a', limit: 1, window: 60 }
    expect((await call('PUT', '/api/v1/rate/fixed-window/set', limit, { 'x-client-id': 'caf\xe9' })).status).toBe(400)
  })

  test('answer 401 in the same envelope', async () => {
    const { call } = await startService()
    const answer = await call('POST', '/api/v1/rate/fixed-window', { route: '/a' }, { 'x-client-id': 'ada', 'api-key': 'nope' })
    expect(answer.status).toBe(401)
    expect(answer.body).toEqual({
      meta: { message: expect.any(String), code: 401, status: 'error', error: 'ERR_UNAUTHENTICATED' },
      data: null,
    })
  })
})

describe('POST /v1/check/batch', () => {
  test('decides each check in order, like single checks', async () => {
    const { call } = await startService()
    await call('PUT', '/v1/policies/tight', { client: 'tight', rules: '1/hour' })
    const checks = [
      { client_id: 'ada', route: '/a' },
      { client_id: 'tight', route: '/a' },
      { client_id: 'tight', route: '/a' },
      { client_id: 'ada', route: '/a', cost: 9 },
    ]
    const { status, body } = await call('POST', '/v1/check/batch', { checks })
    expect(status).toBe(200)
    expect(body.data.results.map(({ status: answer, remain }: { status: string; remain: number }) => [answer, remain])).toEqual([
      ['Allow', 99],
      ['Allow', 0],
      ['Deny', 0],
      ['Allow', 90],
    ])
  })

  test('accepts a thousand checks, and no more', async () => {
    const { call } = await startService()
    const checks = Array.from({ length: 1000 }, (_, i) => ({ client_id: `client-${i}`, route: '/a' }))
    expect((await call('POST', '/v1/check/batch', { checks })).body.data.results).toHaveLength(1000)
    const { status, body } = await call('POST', '/v1/check/batch', { checks: [...checks, checks[0]] })
    expect(status).toBe(400)
    expect(body.meta.message).toContain('1 to 1000')
    expect((await call('POST', '/v1/check/batch', { checks: [] })).status).toBe(400)
  })

  test('one invalid check refuses all of them and counts none', async () => {
    const { call } = await startService()
    const { status, body } = await call('POST', '/v1/check/batch', {
      checks: [{ client_id: 'ada', route: '/a' }, { client_id: 'ada' }],
    })
    expect(status).toBe(400)
    expect(body.meta.problems[0].at).toBe('checks[1].route')
    expect((await call('POST', '/v1/check', { client_id: 'ada', route: '/a' })).body.data.remain).toBe(99)
  })

  test('up to 256 KiB, and no more', async () => {
    const { call } = await startService()
    const checks = (bytes: number) => JSON.stringify({ checks: [{ client_id: 'a', route: '/a' }] }).padEnd(bytes)
    expect((await call('POST', '/v1/check/batch', checks(262_144))).status).toBe(200)
    expect((await call('POST', '/v1/check/batch', checks(262_145))).status).toBe(413)
    expect((await call('POST', '/v1/check', checks(16_385))).status).toBe(413)
  })
})
