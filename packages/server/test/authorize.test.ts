// Requests of proxies before they forward.

import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { startService } from './running-service.ts'

const FORWARDED = {
  'x-forwarded-for': '203.0.113.7',
  'x-forwarded-uri': '/orders?page=2',
  'x-forwarded-method': 'POST',
  'x-forwarded-host': 'shop.example',
}

describe('GET /v1/authorize', () => {
  test('answers 200 or 429 without a body, with rate limit headers', async () => {
    const { call } = await startService()
    await call('PUT', '/v1/policies/orders', { route: '/orders', rules: '1/hour' })
    const allowed = await call('GET', '/v1/authorize', undefined, FORWARDED)
    expect([allowed.status, allowed.body]).toEqual([200, ''])
    expect(allowed.headers.get('ratelimit')).toBe('"rule-1";r=0;t=3600')
    const denied = await call('GET', '/v1/authorize', undefined, FORWARDED)
    expect([denied.status, denied.body]).toEqual([429, ''])
    expect(denied.headers.get('retry-after')).toBe('3600')
    expect((await call('HEAD', '/v1/authorize', undefined, FORWARDED)).status).toBe(429)
    expect((await call('GET', '/v1/authorize?deny_status=403', undefined, FORWARDED)).status).toBe(403)
    expect((await call('GET', '/v1/authorize?deny_status=200', undefined, FORWARDED)).status).toBe(400)
  })

  test('counts the address that the proxy saw; under the built-in policy over all its paths, so that new paths give no new limit', async () => {
    const { call } = await startService()
    const statuses: number[] = []
    for (let i = 0; i < 150; i++) {
      statuses.push((await call('GET', '/v1/authorize', undefined, { ...FORWARDED, 'x-forwarded-uri': `/p${i}?q` })).status)
    }
    expect(statuses).toEqual([...Array(100).fill(200), ...Array(50).fill(429)])
    const other = { ...FORWARDED, 'x-forwarded-for': '203.0.113.8' }
    expect((await call('GET', '/v1/authorize', undefined, other)).status).toBe(200)
    const usage = await call('GET', '/v1/usage?client_id=203.0.113.7&route=*')
    expect(usage.body.data).toMatchObject({ policy: 'default', status: 'Deny', rules: [{ used: 100 }] })
    await call('POST', '/v1/reset', { client_id: '203.0.113.7', route: '*' })
    expect((await call('GET', '/v1/authorize', undefined, FORWARDED)).status).toBe(200)
  })

  test('under a policy of your own, its scope determines what is counted', async () => {
    const { call } = await startService()
    const ask = async (uri: string) =>
      (await call('GET', '/v1/authorize', undefined, { ...FORWARDED, 'x-forwarded-uri': uri })).status
    await call('PUT', '/v1/policies/paths', { route: '/paths/*', rules: '1/hour' })
    await call('PUT', '/v1/policies/client', { route: '/client/*', rules: '1/hour', scope: 'policy' })
    expect([await ask('/paths/1'), await ask('/paths/2'), await ask('/paths/1')]).toEqual([200, 200, 429])
    expect([await ask('/client/1'), await ask('/client/2')]).toEqual([200, 429])
    await call('PUT', '/v1/policies/default', { rules: '1/hour', scope: 'policy' })
    expect([await ask('/a'), await ask('/b')]).toEqual([200, 429])
    await call('PUT', '/v1/policies/default', { rules: '1/hour', scope: 'route' })
    expect([await ask('/a'), await ask('/b'), await ask('/a')]).toEqual([200, 200, 429])
  })

  test('a route that the proxy names is counted by itself, like a check', async () => {
    const { call } = await startService()
    for (const route of ['one', 'two']) await call('GET', `/v1/authorize?route=${route}`, undefined, FORWARDED)
    await call('POST', '/v1/check', { client_id: '203.0.113.7', route: 'one' })
    expect((await call('GET', '/v1/usage?client_id=203.0.113.7&route=one')).body.data.rules[0].used).toBe(2)
    expect((await call('GET', '/v1/usage?client_id=203.0.113.7&route=two')).body.data.rules[0].used).toBe(1)
    expect((await call('GET', '/v1/usage?client_id=203.0.113.7&route=*')).body.data.rules[0].used).toBe(0)
  })

  test('spellings of a path are combined if the query says so', async () => {
    const { call } = await startService()
    await call('PUT', '/v1/policies/all', { client: '203.0.113.7', rules: '1/hour' })
    const ask = async (uri: string, query = '') =>
      (await call('GET', `/v1/authorize${query}`, undefined, { ...FORWARDED, 'x-forwarded-uri': uri })).status
    const all = '?fold=case,parameters,trailing-slash,encoded-slash'
    const spellings = ['/a/b', '/A/b', '/a;x/b', '/a/b/', '/a%2fb']
    expect(await Promise.all(spellings.map((uri) => ask(uri)))).toEqual([200, 200, 200, 200, 200])
    expect(await Promise.all(spellings.map((uri) => ask(uri, all)))).toEqual([429, 429, 429, 429, 429])
    expect(await ask('/a', '?fold=lower')).toBe(400)
  })

  test('users with long headers are distinguished, and counted under a shortened id', async () => {
    const { call } = await startService()
    const token = `eyJhbGciOiJSUzI1NiJ9.${'a'.repeat(1000)}`
    const ask = (user: string) => call('GET', '/v1/authorize?client_header=X-User', undefined, { ...FORWARDED, 'x-user': user })
    for (const user of [`${token}1`, `${token}2`, `${token}2`, 'b'.repeat(256)]) expect((await ask(user)).status).toBe(200)
    const used = async (client: string) =>
      (await call('GET', `/v1/usage?client_id=${encodeURIComponent(client)}&route=*`)).body.data.rules[0].used
    const idOf = (user: string) => `${user.slice(0, 64)}~sha256-${createHash('sha256').update(user).digest('base64url')}`
    expect([await used(idOf(`${token}1`)), await used(idOf(`${token}2`)), await used('b'.repeat(256))]).toEqual([1, 2, 1])
  })

  test('users whose header is not UTF-8 are distinguished from each other and from those with UTF-8', async () => {
    const { call } = await startService()
    const bytes = (...values: number[]) => Buffer.from([...Buffer.from('caf'), ...values])
    const users = [bytes(0xc3, 0xa9), bytes(0xe9), bytes(0xe9), bytes(0xe8), bytes(0xef, 0xbf, 0xbd)]
    for (const user of users) {
      // A header is sent as one byte for each character.
      const headers = { ...FORWARDED, 'x-user': user.toString('latin1') }
      expect((await call('GET', '/v1/authorize?client_header=X-User', undefined, headers)).status).toBe(200)
    }
    const used = async (client: string) =>
      (await call('GET', `/v1/usage?client_id=${encodeURIComponent(client)}&route=*`)).body.data.rules[0].used
    const idOf = (user: Buffer) => `caf\ufffd~sha256-${createHash('sha256').update(user).digest('base64url')}`
    expect(await Promise.all(['café', 'caf\ufffd', idOf(users[1]), idOf(users[3])].map(used))).toEqual([1, 1, 2, 1])
  })

  test('a header is found even behind many others', async () => {
    const { call } = await startService()
    const filler = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`x-filler-${i}`, `${i}`]))
    await call('GET', '/v1/authorize?client_header=X-Last', undefined, { ...FORWARDED, ...filler, 'x-last': 'ada' })
    expect((await call('GET', '/v1/usage?client_id=ada&route=*')).body.data.rules[0].used).toBe(1)
  })

  test('no header of the client itself changes which client is counted', async () => {
    const { call } = await startService()
    for (const spoofed of ['198.51.100.1, 203.0.113.7', '198.51.100.2,127.0.0.1,203.0.113.7', 'garbage, 203.0.113.7:4711']) {
      await call('GET', '/v1/authorize', undefined, { ...FORWARDED, 'x-forwarded-for': spoofed })
    }
    expect((await call('GET', '/v1/usage?client_id=203.0.113.7&route=*')).body.data.rules[0].used).toBe(3)
  })

  test('trusted proxies are skipped', async () => {
    const { call } = await startService({ flags: { trustedProxies: '10.0.0.0/8' } })
    await call('GET', '/v1/authorize', undefined, { ...FORWARDED, 'x-forwarded-for': '203.0.113.7, 10.1.2.3' })
    expect((await call('GET', '/v1/usage?client_id=203.0.113.7&route=*')).body.data.rules[0].used).toBe(1)
  })

  test('an IPv6 client is counted by its network', async () => {
    const { call } = await startService()
    await call('GET', '/v1/authorize', undefined, { ...FORWARDED, 'x-forwarded-for': '2001:db8:1:2::3' })
    await call('GET', '/v1/authorize', undefined, { ...FORWARDED, 'x-forwarded-for': '2001:db8:1:2:ffff::9' })
    const client = encodeURIComponent('2001:db8:1:2::/64')
    expect((await call('GET', `/v1/usage?client_id=${client}&route=*`)).body.data.rules[0].used).toBe(2)
  })

  test('the query can set the client and the route', async () => {
    const { call } = await startService()
    await call('PUT', '/v1/policies/default', { rules: '100/minute' })
    const used = async (client: string, route: string) =>
      (await call('GET', `/v1/usage?client_id=${encodeURIComponent(client)}&route=${encodeURIComponent(route)}`)).body.data
        .rules[0].used
    await call('GET', '/v1/authorize?client=site', undefined, FORWARDED)
    expect(await used('site', '/orders')).toBe(1)
    await call('GET', '/v1/authorize?client_header=X-User', undefined, { ...FORWARDED, 'x-user': 'ada' })
    expect(await used('ada', '/orders')).toBe(1)
    await call('GET', '/v1/authorize?client_header=X-User', undefined, FORWARDED)
    expect(await used('203.0.113.7', '/orders')).toBe(1)
    await call('GET', '/v1/authorize?with=method,host&cost=5', undefined, FORWARDED)
    expect(await used('203.0.113.7', 'POST shop.example/orders')).toBe(5)
    await call('GET', '/v1/authorize?route=everything', undefined, { 'x-forwarded-for': '203.0.113.7' })
    expect(await used('203.0.113.7', 'everything')).toBe(1)
    await call('GET', '/v1/authorize', undefined, { 'x-forwarded-for': '203.0.113.7', 'x-original-uri': '/nginx//x/../y' })
    expect(await used('203.0.113.7', '/nginx/y')).toBe(1)
  })

  test('names a header that the proxy does not send', async () => {
    const { call } = await startService()
    const { 'x-forwarded-for': _, ...noAddress } = FORWARDED
    const { 'x-forwarded-uri': __, ...noUri } = FORWARDED
    expect((await call('GET', '/v1/authorize', undefined, noAddress)).body.meta.message).toContain('X-Forwarded-For is missing')
    expect((await call('GET', '/v1/authorize', undefined, noUri)).body.meta.message).toContain(
      'X-Forwarded-Uri or X-Original-URI is missing',
    )
  })
})
