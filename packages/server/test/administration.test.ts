// Policies, keys, counters and the audit log over HTTP.

import { describe, expect, test } from 'vitest'
import { advance, START, startService } from './running-service.ts'

describe('policies', () => {
  test('are added, read, replaced, listed and deleted', async () => {
    const { call } = await startService()
    const added = await call('PUT', '/v1/policies/gold', { client: 'acme*', rules: '1000/minute' })
    expect(added.status).toBe(201)
    const { etag } = added.body.data
    expect(etag).toMatch(/^"[\w-]{22}"$/)
    expect(added.body).toEqual({
      meta: { message: 'success', code: 201, status: 'ok' },
      data: {
        name: 'gold',
        client: 'acme*',
        route: '*',
        rules: ['1000/minute'],
        mode: 'enforce',
        scope: 'route',
        source: 'api',
        etag,
      },
    })
    const replaced = await call('PUT', '/v1/policies/gold', {
      name: 'gold',
      client: 'acme*',
      rules: ['5/second', '1000/minute'],
      mode: 'shadow',
    })
    expect(replaced.status).toBe(200)
    expect((await call('GET', '/v1/policies/gold')).body.data).toMatchObject({
      rules: ['5/second', '1000/minute'],
      mode: 'shadow',
    })
    expect((await call('DELETE', '/v1/policies/gold')).body.data.name).toBe('gold')
    expect((await call('GET', '/v1/policies/gold')).status).toBe(404)
    expect((await call('DELETE', '/v1/policies/gold')).body.meta).toMatchObject({ code: 404, error: 'ERR_POLICY_UNKNOWN' })
  })

  test('are changed only if they match the precondition', async () => {
    const { call } = await startService()
    const put = (limit: number, headers: Record<string, string> = {}) =>
      call('PUT', '/v1/policies/gold', { client: 'acme', rules: `${limit}/minute` }, headers)
    const isRefused = { status: 412, body: { meta: { error: 'ERR_PRECONDITION' } } }
    expect(await put(1, { 'if-match': '*' })).toMatchObject(isRefused)
    const first = await put(1, { 'if-none-match': '*' })
    expect(first.status).toBe(201)
    const { etag } = first.body.data
    expect(first.headers.get('etag')).toBe(etag)
    expect((await call('GET', '/v1/policies/gold')).headers.get('etag')).toBe(etag)
    expect((await call('GET', '/v1/policies?search=gold')).body.data.policies[0].etag).toBe(etag)
    const { etag: builtIn, source: _, ...same } = (await call('GET', '/v1/policies/default')).body.data
    expect((await call('PUT', '/v1/policies/default', same)).body.data.etag).not.toBe(builtIn)
    expect((await put(2, { 'if-none-match': '*' })).body.meta.message).toBe('there is a policy "gold" already')
    const second = (await put(2, { 'if-match': etag })).body.data.etag
    expect(second).not.toBe(etag)
    expect((await put(3, { 'if-match': etag })).body.meta.message).toBe(
      `the policy "gold" has been changed: its ETag is ${second}`,
    )
    expect(await call('DELETE', '/v1/policies/gold', undefined, { 'if-match': etag })).toMatchObject(isRefused)
    expect((await call('GET', '/v1/policies/gold')).body.data.rules).toEqual(['2/minute'])
    expect((await put(1, { 'if-match': `"other", ${second}` })).body.data.etag).toBe(etag)
    expect((await call('DELETE', '/v1/policies/gold', undefined, { 'if-match': etag })).status).toBe(200)
    const actions = (await call('GET', '/v1/audit?target=gold')).body.data.entries.map(({ action }: { action: string }) => action)
    expect(actions).toEqual(['policy.delete', 'policy.put', 'policy.put', 'policy.put'])
  })

  test('are listed in pages and searched', async () => {
    const { call } = await startService()
    for (let i = 0; i < 7; i++) await call('PUT', `/v1/policies/p${i}`, { client: `client-${i}`, rules: '1/s' })
    const first = (await call('GET', '/v1/policies?limit=3')).body.data
    expect(first.policies.map(({ name }: { name: string }) => name)).toEqual(['default', 'p0', 'p1'])
    expect(first).toMatchObject({ total: 8, next: 'p1' })
    const second = (await call('GET', `/v1/policies?limit=100&after=${first.next}`)).body.data
    expect(second.policies).toHaveLength(5)
    expect(second.next).toBeNull()
    expect((await call('GET', '/v1/policies?search=CLIENT-4')).body.data.policies).toMatchObject([{ name: 'p4' }])
    expect((await call('GET', '/v1/policies?limit=0')).status).toBe(400)
    expect((await call('GET', '/v1/policies?limit=many')).body.meta.message).toContain(
      'limit must be a whole number from 1 to 1000',
    )
    expect((await call('GET', '/v1/policies?serach=x')).body.meta.message).toContain('did you mean search?')
  })

  test.each([
    [{ rules: '1/s' }, 'ERR_INPUT', 'the one for all clients and routes is called default'],
    [{ client: 'a', rules: 'often' }, 'ERR_INPUT', 'rules'],
    [{ client: 'a', rules: [] }, 'ERR_INPUT', 'rules'],
    [{ client: 'a', rules: '1/s', mods: 'off' }, 'ERR_INPUT', 'did you mean mode?'],
    [{ client: 'a', rules: '1/s', name: 'other' }, 'ERR_INPUT', 'in the path'],
    [[], 'ERR_INPUT', 'must be an object'],
    [{ client: 'taken', rules: '1/s' }, 'ERR_POLICY_TAKEN', '"taken"'],
  ])('refuse %o', async (body, error, message) => {
    const { call } = await startService()
    await call('PUT', '/v1/policies/first', { client: 'taken', rules: '1/s' })
    const answer = await call('PUT', '/v1/policies/new', body)
    expect(answer.body.meta.error).toBe(error)
    expect(answer.body.meta.message).toContain(message)
    expect(answer.status).toBe(error === 'ERR_INPUT' ? 400 : 409)
    expect((await call('GET', '/v1/policies')).body.data.total).toBe(2)
  })

  test('the default can be replaced, and deleting the replacement restores the built-in one', async () => {
    const { call } = await startService()
    await call('PUT', '/v1/policies/default', { rules: '3/hour' })
    expect((await call('POST', '/v1/check', { client_id: 'ada', route: '/a' })).body.data.limit).toBe(3)
    await call('DELETE', '/v1/policies/default')
    expect((await call('POST', '/v1/check', { client_id: 'ada', route: '/a' })).body.data.limit).toBe(100)
    expect((await call('DELETE', '/v1/policies/default')).status).toBe(409)
  })
})

describe('keys', () => {
  test('are created, listed without their secrets, used, rotated and revoked', async () => {
    const { call } = await startService()
    const made = await call('POST', '/v1/keys', { name: 'shop', scopes: ['check'] })
    expect(made.status).toBe(201)
    const { key, secret } = made.body.data
    expect(key).toEqual({
      id: expect.any(String),
      name: 'shop',
      scopes: ['check'],
      created_at: '2027-01-15T08:00:19.000Z',
      expires_at: null,
      revoked_at: null,
      last_used_at: null,
    })
    const check = (presented: string) => call('POST', '/v1/check', { client_id: 'ada', route: '/a' }, { 'api-key': presented })
    expect((await check(secret)).status).toBe(200)
    const listed = await call('GET', '/v1/keys')
    expect(listed.body.data.keys.map(({ name }: { name: string }) => name).sort()).toEqual(['first-admin', 'shop'])
    expect(JSON.stringify(listed.body)).not.toContain(secret.slice(20, 60))
    const rotated = (await call('POST', `/v1/keys/${key.id}/rotate`, { grace_in_second: 60 })).body.data
    expect([(await check(secret)).status, (await check(rotated.secret)).status]).toEqual([200, 200])
    advance(60_000)
    expect([(await check(secret)).status, (await check(rotated.secret)).status]).toEqual([401, 200])
    expect((await call('DELETE', `/v1/keys/${rotated.key.id}`)).body.data.revoked_at).toBe('2027-01-15T08:01:19.000Z')
    expect((await check(rotated.secret)).status).toBe(401)
  })

  test('expire', async () => {
    const { call } = await startService()
    const expires_at = new Date(START + 5000).toISOString()
    const { secret } = (await call('POST', '/v1/keys', { name: 'brief', scopes: ['check'], expires_at })).body.data
    const status = async () => (await call('POST', '/v1/check', { client_id: 'a', route: '/a' }, { 'api-key': secret })).status
    expect(await status()).toBe(200)
    advance(5000)
    expect(await status()).toBe(401)
  })

  test.each([
    [{ name: 'x' }, 'scopes is missing'],
    [{ name: 'x', scopes: [] }, 'scopes must be a list of check, read and admin'],
    [{ name: 'x', scopes: ['chekc'] }, 'did you mean check?'],
    [{ name: 'x', scopes: ['check'], expires_at: 'tomorrow' }, 'expires_at must be a time such as'],
    [{ name: 'x', scopes: ['check'], expires_at: '2027-13-45T00:00:00Z' }, 'expires_at must be a time such as'],
    [{ name: 'x', scopes: ['check'], expires_at: '2020-01-01T00:00:00Z' }, 'must be in the future'],
  ])('refuse %o', async (body, message) => {
    const { call } = await startService()
    const answer = await call('POST', '/v1/keys', body)
    expect(answer.status).toBe(400)
    expect(answer.body.meta.message).toContain(message)
  })
})

describe('scopes', () => {
  const routes = {
    check: [
      ['POST', '/v1/check', { client_id: 'a', route: '/a' }],
      ['POST', '/v1/check/batch', { checks: [{ client_id: 'a', route: '/a' }] }],
      ['POST', '/v1/refund', { client_id: 'a', route: '/a' }],
      ['GET', '/v1/authorize?client=a&route=/a', undefined],
    ],
    read: [
      ['GET', '/v1/usage?client_id=a&route=/a', undefined],
      ['GET', '/v1/policies', undefined],
      ['GET', '/v1/policies/default', undefined],
      ['GET', '/v1/stats', undefined],
      ['GET', '/v1/top', undefined],
      ['GET', '/v1/activity?client_id=ada', undefined],
      ['GET', '/metrics', undefined],
    ],
    admin: [
      ['POST', '/v1/reset', { client_id: 'a', route: '/a' }],
      ['POST', '/v1/set', { client_id: 'a', route: '/a', used: 1 }],
      ['PUT', '/v1/policies/x', { client: 'x', rules: '1/s' }],
      ['DELETE', '/v1/policies/x', undefined],
      ['GET', '/v1/keys', undefined],
      ['GET', '/v1/audit', undefined],
      ['POST', '/v1/keys', { name: 'another', scopes: ['check'] }],
    ],
  } as const

  test('a key may do only what its scopes allow; admin may do everything', async () => {
    const { call } = await startService()
    const secrets: Record<string, string> = {}
    for (const scope of ['check', 'read', 'admin']) {
      secrets[scope] = (await call('POST', '/v1/keys', { name: scope, scopes: [scope] })).body.data.secret
    }
    for (const [needed, listed] of Object.entries(routes)) {
      for (const [method, path, body] of listed) {
        for (const [scope, secret] of Object.entries(secrets)) {
          const { status, body: answer } = await call(method, path, body, { 'api-key': secret })
          const may = scope === needed || scope === 'admin'
          expect(status < 300, `${scope} ${method} ${path}: ${status}`).toBe(may)
          if (!may) expect(answer.meta).toMatchObject({ code: 403, error: 'ERR_FORBIDDEN' })
        }
      }
    }
  })
})

describe('counters', () => {
  test('are read, refunded, set and reset', async () => {
    const { call } = await startService()
    const pair = { client_id: 'ada', route: '/a' }
    await call('PUT', '/v1/policies/two', { client: 'ada', rules: ['10/minute', '100/day'] })
    await call('POST', '/v1/check', { ...pair, cost: 8 })
    const usage = await call('GET', '/v1/usage?client_id=ada&route=/a')
    expect(usage.body.data).toEqual({
      ...pair,
      policy: 'two',
      mode: 'enforce',
      status: 'Allow',
      rules: [
        { name: 'rule-1', policy: 'two', limit: 10, used: 8, remain: 2, reset_in_second: 60, retry_after_ms: 0 },
        { name: 'rule-2', policy: 'two', limit: 100, used: 8, remain: 92, reset_in_second: 86_400, retry_after_ms: 0 },
      ],
      holds: { open: 0, held: {} },
    })
    expect((await call('GET', '/v1/usage?client_id=ada&route=/a&cost=3')).body.data).toMatchObject({
      status: 'Deny',
      rules: [{ retry_after_ms: 60_000 }, { retry_after_ms: 0 }],
    })
    expect((await call('POST', '/v1/refund', { ...pair, cost: 5 })).body.data).toEqual({ ...pair, policy: 'two', used: 3 })
    expect((await call('POST', '/v1/refund', { ...pair, cost: 50 })).body.data.used).toBe(0)
    expect((await call('POST', '/v1/set', { ...pair, used: 99, rule: 'rule-2' })).body.data).toEqual({
      ...pair,
      policy: 'two',
      used: 99,
    })
    expect((await call('POST', '/v1/check', { ...pair, cost: 2 })).body.data).toMatchObject({
      status: 'Deny',
      limit: 100,
      remain: 1,
    })
    expect((await call('POST', '/v1/reset', pair)).body.data).toEqual({ ...pair, policy: 'two', used: 0 })
    expect((await call('POST', '/v1/check', pair)).body.data).toMatchObject({ status: 'Allow', remain: 9 })
  })

  test('reading spends nothing', async () => {
    const { call } = await startService()
    for (let i = 0; i < 200; i++) await call('GET', '/v1/usage?client_id=ada&route=/a')
    expect((await call('POST', '/v1/check', { client_id: 'ada', route: '/a' })).body.data.remain).toBe(99)
  })

  test('an unknown rule is refused', async () => {
    const { call } = await startService()
    const { status, body } = await call('POST', '/v1/set', { client_id: 'a', route: '/a', used: 1, rule: 'nope' })
    expect(status).toBe(400)
    expect(body.meta.message).toContain('no rule is called "nope"')
  })
})

test('the audit log has every administrative change, newest first, with actor and address, and no secret', async () => {
  const { call, key } = await startService()
  await call('PUT', '/v1/policies/gold', { client: 'a', rules: '1/s' })
  await call('PUT', '/v1/policies/gold', { client: 'a', rules: '2/s' })
  await call('DELETE', '/v1/policies/gold')
  const { key: made, secret } = (await call('POST', '/v1/keys', { name: 'shop', scopes: ['check'] })).body.data
  await call('DELETE', `/v1/keys/${made.id}`)
  await call('POST', '/v1/reset', { client_id: 'ada', route: '/a' })
  await call('POST', '/v1/set', { client_id: 'ada', route: '/a', used: 5 })
  await call('PUT', '/api/v1/rate/fixed-window/set', { route: '/a', limit: 5, window: 60 }, { 'x-client-id': 'ada' })
  await call('PUT', '/v1/policies/bad', { rules: 'nonsense' })
  const { entries } = (await call('GET', '/v1/audit')).body.data
  expect(entries.map(({ action }: { action: string }) => action)).toEqual([
    'policy.put',
    'counter.set',
    'counter.reset',
    'key.revoke',
    'key.create',
    'policy.delete',
    'policy.put',
    'policy.put',
    'key.create',
  ])
  const change = entries[6]
  expect(change).toMatchObject({
    time: '2027-01-15T08:00:19.000Z',
    actor: key.split('_')[1],
    target: 'gold',
    before: { rules: ['1/s'] },
    after: { rules: ['2/s'] },
    address: '127.0.0.1',
    requestId: expect.any(String),
  })
  expect(JSON.stringify(entries)).not.toContain(secret)
  const page = (await call('GET', '/v1/audit?limit=2')).body.data
  expect(page.entries).toHaveLength(2)
  const rest = (await call('GET', `/v1/audit?limit=100&before=${page.next}`)).body.data
  expect([...page.entries, ...rest.entries]).toEqual(entries)
  expect(rest.next).toBeNull()
  expect((await call('GET', '/v1/audit?before=nonsense')).status).toBe(400)
})

test('the audit log is searched in actions, targets and names of keys, which stay as they were', async () => {
  const { call } = await startService()
  const { secret, key } = (await call('POST', '/v1/keys', { name: 'Deploy bot', scopes: ['admin'] })).body.data
  await call('PUT', '/v1/policies/gold', { client: 'a', rules: '1/s' }, { 'api-key': secret })
  await call('PUT', '/v1/policies/silver', { client: 'b', rules: '1/s' })
  await call('DELETE', `/v1/keys/${key.id}`)
  const found = async (search: string) => (await call('GET', `/v1/audit?search=${encodeURIComponent(search)}`)).body.data
  expect(await found('deploy BOT')).toMatchObject({
    entries: [
      { action: 'key.revoke', target: key.id },
      { actor: key.id, actorName: 'Deploy bot', action: 'policy.put', target: 'gold' },
      { action: 'key.create', target: key.id },
    ],
    next: null,
    looked_at: 5,
  })
  expect((await found('policy.')).entries).toHaveLength(2)
  expect((await found(key.id)).entries.map(({ action }: { action: string }) => action)).toEqual([
    'key.revoke',
    'policy.put',
    'key.create',
  ])
  expect(await found('nobody was here')).toMatchObject({ entries: [], next: null })
  expect((await call('GET', '/v1/audit?search=')).status).toBe(400)
  expect((await call('GET', `/v1/audit?search=${'x'.repeat(257)}`)).status).toBe(400)
})
