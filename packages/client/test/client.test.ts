// The client against the real service: every method, through both doors.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { certificate } from '../../server/test/certificate.ts'
import { advance, START, startService } from '../../server/test/running-service.ts'
import { temporaryFolder } from '../../server/test/temporary-folder.ts'
import { LIMITS } from '../src/contract/index.ts'
import { createClient as createByFetch } from '../src/index.ts'
import { type Client, createClient as createByNode } from '../src/node.ts'

const acme = { clientId: 'acme', route: '/v1/orders' }

describe.each([
  ['sluice-client', createByFetch],
  ['sluice-client/node', createByNode],
] as const)('%s', (_, createClient) => {
  async function startClient(): Promise<Client> {
    const { address, key } = await startService()
    const client = createClient({ url: address, apiKey: key, failure: { timeoutMs: 5000 } })
    onTestFinished(() => client.close())
    return client
  }

  test('check, checkMany, usage, refund, set, reset', async () => {
    const client = await startClient()
    await client.policies.put({
      name: 'burst',
      client: 'acme',
      rules: { algorithm: 'token-bucket', capacity: 3, refill: 1, every: '2s', name: 'burst' },
    })
    expect(await client.check({ ...acme, cost: 2 })).toEqual({
      allowed: true,
      limit: 3,
      remaining: 1,
      retryAfterMs: 0,
      retryable: true,
      resetAfterMs: 4000,
      isShadowDenied: false,
      policy: 'burst',
      rule: 'burst',
      source: 'service',
    })
    const [denied, never] = await client.checkMany([
      { ...acme, cost: 2 },
      { ...acme, cost: 4 },
    ])
    expect(denied).toMatchObject({ allowed: false, remaining: 1, retryAfterMs: 2000, retryable: true })
    expect(never).toMatchObject({ allowed: false, retryAfterMs: Number.POSITIVE_INFINITY, retryable: false })
    advance(1999)
    expect(await client.check({ ...acme, cost: 2 })).toMatchObject({ allowed: false, retryAfterMs: 1 })
    advance(1)
    expect(await client.check({ ...acme, cost: 2 })).toMatchObject({ allowed: true, remaining: 0 })

    expect(await client.usage(acme)).toEqual({
      clientId: 'acme',
      route: '/v1/orders',
      policy: 'burst',
      mode: 'enforce',
      allowed: false,
      rules: [{ name: 'burst', policy: 'burst', limit: 3, used: 3, remaining: 0, retryAfterMs: 2000, resetAfterMs: 6000 }],
      holds: { open: 0, held: {} },
    })
    const counted = { clientId: 'acme', route: '/v1/orders', policy: 'burst' }
    expect(await client.refund({ ...acme, cost: 2 })).toEqual({ ...counted, used: 1 })
    expect(await client.set({ ...acme, used: 2, rule: 'burst' })).toEqual({ ...counted, used: 2 })
    expect(await client.reset(acme)).toEqual({ ...counted, used: 0 })
    await expect(client.set({ ...acme, used: 2, rule: 'brust' })).rejects.toMatchObject({ status: 400 })
  })

  test('a check that passes the client is accepted by the service', async () => {
    const client = await startClient()
    const longest = {
      clientId: '€'.repeat(LIMITS.longestClientId),
      route: '\u0001'.repeat(LIMITS.longestRoute),
      cost: Number.MAX_SAFE_INTEGER,
    }
    const strange = ['__proto__', '😀\ufffd', '\r\n\0', '"\\'].map((text) => ({ clientId: text, route: text }))
    const decisions = await client.checkMany([longest, ...strange])
    expect(decisions.map(({ allowed }) => allowed)).toEqual([false, true, true, true, true])
    const many = Array.from({ length: 300 }, (_, i) => ({ ...longest, clientId: `${i}${longest.clientId.slice(9)}`, cost: 1 }))
    expect((await client.checkMany(many)).every(({ allowed }) => allowed)).toBe(true)
  })

  test('attributes choose the policy, in checks, batches, holds and changes of counters', async () => {
    const client = await startClient()
    const rules = { algorithm: 'fixed-window', limit: 3, window: '1h', name: 'requests', per: ['org'] } as const
    await client.policies.put({ name: 'free', where: { plan: 'free' }, client: '*', route: '/v1/*', rules })
    const free = { ...acme, attributes: { plan: 'free', org: 'o1' } }
    expect(await client.check(free)).toMatchObject({ limit: 3, remaining: 2, policy: 'free', rule: 'requests' })
    expect((await client.check(acme)).policy).toBe('default')
    const [same, other] = await client.checkMany([
      { ...free, clientId: 'bob' },
      { ...free, attributes: { plan: 'free', org: 'o2' } },
    ])
    expect([same.remaining, other.remaining]).toEqual([1, 2])
    const hold = await client.reserve({ ...free, hold: 1 })
    expect((await client.usage(free)).rules).toMatchObject([{ name: 'requests', policy: 'free', used: 3 }])
    await hold.cancel()
    expect((await client.refund(free)).used).toBe(1)
    expect((await client.set({ ...free, used: 3 })).used).toBe(3)
    expect((await client.reset(free)).used).toBe(0)
  })

  test('the reason of a denial is there if its policy shows it', async () => {
    const client = await startClient()
    await client.policies.put({ name: 'blocked', client: 'acme', mode: 'deny', reason: 'unpaid', show_reason: true })
    expect(await client.check(acme)).toMatchObject({ allowed: false, policy: 'blocked', reason: 'unpaid' })
  })

  test('the largest attributes that the client accepts are accepted by the service, alone and in a batch', async () => {
    const client = await startClient()
    const names = Array.from({ length: LIMITS.mostAttributes }, (_, i) => `${'a'.repeat(60)}${i}`)
    const attributes = Object.fromEntries(names.map((name) => [name, '\u0001'.repeat(LIMITS.longestValue)]))
    const largest = { clientId: '\u0001'.repeat(LIMITS.longestClientId), route: '\u0001'.repeat(LIMITS.longestRoute), attributes }
    expect((await client.check(largest)).allowed).toBe(true)
    expect((await client.checkMany([largest, largest])).map(({ allowed }) => allowed)).toEqual([true, true])
  })

  test('a lone surrogate is refused before it is sent, so that the rest of its batch is decided', async () => {
    const client = await startClient()
    const half = client.check({ clientId: 'ada\ud800', route: '/a' })
    const whole = client.check({ clientId: 'ada', route: '/a' })
    await expect(half).rejects.toMatchObject({ code: 'ERR_OPTION' })
    expect((await whole).allowed).toBe(true)
  })

  test('changes of policies by others are not overwritten', async () => {
    const client = await startClient()
    const gold = { name: 'gold', client: 'acme', rules: '5/second' }
    const isRefused = { code: 'ERR_PRECONDITION', status: 412 }
    const { etag } = await client.policies.put(gold, { ifNoneMatch: '*' })
    await expect(client.policies.put(gold, { ifNoneMatch: '*' })).rejects.toMatchObject(isRefused)
    const changed = await client.policies.put({ ...gold, rules: '6/second' }, { ifMatch: etag })
    await expect(client.policies.put({ ...gold, rules: '7/second' }, { ifMatch: etag })).rejects.toMatchObject(isRefused)
    await expect(client.policies.delete('gold', { ifMatch: etag })).rejects.toMatchObject(isRefused)
    expect(await client.policies.delete('gold', { ifMatch: changed.etag })).toMatchObject({ rules: ['6/second'] })
  })

  test('policies', async () => {
    const client = await startClient()
    const gold = { name: 'gold', client: 'acme*', rules: '5/second; 100/minute', mode: 'shadow' } as const
    expect(await client.policies.put(gold)).toMatchObject({ ...gold, rules: ['5/second; 100/minute'], route: '*', source: 'api' })
    expect(await client.policies.get('gold')).toMatchObject({ name: 'gold', mode: 'shadow' })
    expect(await client.check({ ...acme, cost: 50 })).toMatchObject({ allowed: true, isShadowDenied: true })
    for (let i = 0; i < 5; i++) await client.policies.put({ name: `p${i}`, client: `c${i}`, rules: '1/s' })
    const page = await client.policies.list({ limit: 3 })
    expect(page).toMatchObject({
      total: 7,
      next: 'p0',
      policies: [{ name: 'default', source: 'built-in' }, { name: 'gold' }, { name: 'p0' }],
    })
    const rest = await client.policies.list({ limit: 10, ...(page.next && { after: page.next }) })
    expect(rest.next).toBeUndefined()
    expect((await client.policies.list({ search: 'ACME' })).policies.map(({ name }) => name)).toEqual(['gold'])
    expect(await client.policies.delete('gold')).toMatchObject({ name: 'gold' })
    await expect(client.policies.get('gold')).rejects.toMatchObject({ code: 'ERR_POLICY_UNKNOWN', status: 404 })
    const wrong = { name: 'wrong', client: 'x', rules: { algorithm: 'fixed-window', limit: -1, window: 'soon' } } as never
    await expect(client.policies.put(wrong)).rejects.toMatchObject({
      code: 'ERR_INPUT',
      status: 400,
      problems: expect.arrayContaining([expect.objectContaining({ at: 'rules.limit' })]),
    })
  })

  test('keys', async () => {
    const client = await startClient()
    advance(1)
    const expiresAt = new Date(START + 86_400_000)
    const { key, secret } = await client.keys.create({ name: 'shop', scopes: ['check'], expiresAt })
    expect(key).toMatchObject({
      name: 'shop',
      scopes: ['check'],
      createdAt: new Date(START + 1),
      expiresAt,
      revokedAt: undefined,
    })
    expect(secret).toContain(key.id)
    advance(1)
    const rotated = await client.keys.rotate(key.id, { graceSeconds: 60 })
    expect(rotated.key).toMatchObject({ name: 'shop', scopes: ['check'] })
    expect((await client.keys.list()).map(({ name }) => name)).toEqual(['shop', 'shop', 'first-admin'])
    expect(await client.keys.revoke(key.id)).toMatchObject({ id: key.id, revokedAt: new Date(START + 2) })
    await expect(client.keys.revoke('nobody')).rejects.toMatchObject({ code: 'ERR_KEY_UNKNOWN' })
  })

  test('stats, top and health', async () => {
    const client = await startClient()
    await client.policies.put({ name: 'one', client: 'acme', rules: '1/hour' })
    await client.checkMany([acme, acme, acme, { ...acme, clientId: 'bob' }])
    advance(1000)
    const stats = await client.stats({ seconds: 3 })
    expect(stats).toMatchObject({
      from: new Date(START - 1000),
      allowed: [0, 2, 0],
      denied: [0, 2, 0],
      shadowDenied: [0, 0, 0],
      errors: [0, 0, 0],
      sinceStart: { startedAt: new Date(START), allowed: 2, denied: 2, shadowDenied: 0, errors: 0 },
    })
    expect(stats.policies).toEqual([
      { name: 'one', allowed: 1, denied: 2, shadowDenied: 0, errors: 0 },
      { name: 'default', allowed: 1, denied: 0, shadowDenied: 0, errors: 0 },
    ])
    const denied = { clientId: 'acme', count: 2, error: 0, minutes: [...new Array(59).fill(0), 2] }
    expect(await client.top()).toEqual({ by: 'denied', clients: [denied], unlistedAtMost: 0 })
    expect((await client.top({ by: 'allowed', limit: 1 })).clients).toHaveLength(1)
    expect(await client.health()).toEqual({ isReady: true, state: 'ready', store: 'memory', records: 'kept' })
  })

  test('a wrong key is refused with a clear message', async () => {
    const { address } = await startService()
    const client = createClient({ url: address, apiKey: 'sluice_wrong' })
    onTestFinished(() => client.close())
    await expect(client.check(acme)).rejects.toMatchObject({ code: 'ERR_UNAUTHENTICATED', status: 401, mayHaveHappened: false })
  })
})

test('a socket in the file system, and TLS on it', async () => {
  const { cert, key: tlsKey } = certificate('DNS:localhost')
  for (const tls of [undefined, { ca: readFileSync(cert, 'utf8') }, { verify: false }]) {
    const url = `unix:${join(temporaryFolder(), 's')}`
    const { key } = await startService({ flags: { listen: url, ...(tls && { tlsCert: cert, tlsKey }) } })
    const client = createByNode({ url, apiKey: key, failure: { timeoutMs: 5000 }, tls })
    onTestFinished(() => client.close())
    expect(await client.check(acme)).toMatchObject({ allowed: true, remaining: 99 })
  }
})
