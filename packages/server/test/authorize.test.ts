// What proxies ask before they forward.

import { describe, expect, test } from 'vitest'
import { startService } from './running-service.ts'

const FORWARDED = {
  'x-forwarded-for': '203.0.113.7',
  'x-forwarded-uri': '/orders?page=2',
  'x-forwarded-method': 'POST',
  'x-forwarded-host': 'shop.example',
}

describe('GET /v1/authorize', () => {
  test('answers 200 or 429 without a body, with headers that tell', async () => {
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

  test('counts the address that the proxy saw, and the path', async () => {
    const { call } = await startService()
    await call('GET', '/v1/authorize', undefined, FORWARDED)
    expect((await call('GET', '/v1/usage?client_id=203.0.113.7&route=/orders')).body.data.rules[0].used).toBe(1)
  })

  test('nothing that the client itself sends in front changes whom it counts', async () => {
    const { call } = await startService()
    for (const spoofed of ['198.51.100.1, 203.0.113.7', '198.51.100.2,127.0.0.1,203.0.113.7', 'garbage, 203.0.113.7:4711']) {
      await call('GET', '/v1/authorize', undefined, { ...FORWARDED, 'x-forwarded-for': spoofed })
    }
    expect((await call('GET', '/v1/usage?client_id=203.0.113.7&route=/orders')).body.data.rules[0].used).toBe(3)
  })

  test('looks through further proxies that are trusted', async () => {
    const { call } = await startService({ flags: { trustedProxies: '10.0.0.0/8' } })
    await call('GET', '/v1/authorize', undefined, { ...FORWARDED, 'x-forwarded-for': '203.0.113.7, 10.1.2.3' })
    expect((await call('GET', '/v1/usage?client_id=203.0.113.7&route=/orders')).body.data.rules[0].used).toBe(1)
  })

  test('an IPv6 client is its network', async () => {
    const { call } = await startService()
    await call('GET', '/v1/authorize', undefined, { ...FORWARDED, 'x-forwarded-for': '2001:db8:1:2::3' })
    await call('GET', '/v1/authorize', undefined, { ...FORWARDED, 'x-forwarded-for': '2001:db8:1:2:ffff::9' })
    const client = encodeURIComponent('2001:db8:1:2::/64')
    expect((await call('GET', `/v1/usage?client_id=${client}&route=/orders`)).body.data.rules[0].used).toBe(2)
  })

  test('can be told whom to count and what the route is', async () => {
    const { call } = await startService()
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

  test('says what the proxy leaves out', async () => {
    const { call } = await startService()
    const { 'x-forwarded-for': _, ...noAddress } = FORWARDED
    const { 'x-forwarded-uri': __, ...noUri } = FORWARDED
    expect((await call('GET', '/v1/authorize', undefined, noAddress)).body.meta.message).toContain('X-Forwarded-For is missing')
    expect((await call('GET', '/v1/authorize', undefined, noUri)).body.meta.message).toContain(
      'X-Forwarded-Uri or X-Original-URI is missing',
    )
  })
})
