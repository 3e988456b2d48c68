// Reports about holds: usage, lists, metrics, events, and the audited cancellation. And the state after lost answers.

import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { until } from '../../../test/servers/redis-server.mjs'
import { advance, START, startService, type TestService } from './running-service.ts'

const BUDGET = { client: 'ada', rules: { algorithm: 'fixed-window', limit: 100, window: '1h', name: 'tokens' } }

async function setUp(policy: object = BUDGET, flags: Record<string, string> = {}) {
  const service = await startService({ flags })
  const { call } = service
  await call('PUT', '/v1/policies/own', policy)
  const reserve = async (more: object = {}) =>
    (await call('POST', '/v1/reserve', { client_id: 'ada', route: '/a', hold: 10, ...more })).body.data
  const end = (how: string, token: string, more: object = {}) => call('POST', `/v1/${how}`, { token, ...more })
  const metrics = async () => {
    const { body } = await call('GET', '/metrics')
    const lines = [...(body as string).matchAll(/^sluice_(holds_\w+(?:\{[^}]*\})?) (\d+)$/gm)]
    return Object.fromEntries(lines.map(([, name, value]) => [name, Number(value)]))
  }
  const holds = async (client = 'ada') => (await call('GET', `/v1/holds?client_id=${client}`)).body.data
  const usage = async (route = '/a') => (await call('GET', `/v1/usage?client_id=ada&route=${route}`)).body.data
  return { ...service, reserve, end, metrics, holds, usage }
}

const time = (ms: number): string => new Date(START + ms).toISOString()

describe('reports', () => {
  test('usage has the open holds of the counter, and the list has those of the client', async () => {
    const { reserve, end, holds, usage } = await setUp()
    const first = await reserve()
    advance(1000)
    await reserve({ hold: { tokens: 20 }, ttl: '5m' })
    await reserve({ route: '/b' })
    expect(await usage()).toMatchObject({ holds: { open: 2, held: { tokens: 30 } }, rules: [{ used: 30 }] })
    const listed = await holds()
    expect(listed).toMatchObject({ client_id: 'ada', known_by: 'instance', open: 3 })
    expect(listed.holds).toEqual([
      expect.objectContaining({ route: '/b' }),
      {
        id: expect.stringMatching(/^[\w-]{16}$/),
        route: '/a',
        policy: 'own',
        granted: { tokens: 20 },
        opened_at: time(1000),
        expires_at: time(301_000),
      },
      expect.objectContaining({ route: '/a', granted: { tokens: 10 }, expires_at: time(60_000) }),
    ])
    expect(await holds('bob')).toMatchObject({ open: 0, holds: [] })
    await end('settle', first.token)
    advance(60_000)
    expect(await usage()).toMatchObject({ holds: { open: 1, held: { tokens: 20 } } })
    expect(await usage('/b')).toMatchObject({ holds: { open: 0, held: {} }, rules: [{ used: 10 }] })
  })

  test('with scope policy, usage of any route has the holds of all', async () => {
    const { reserve, usage } = await setUp({ ...BUDGET, scope: 'policy' })
    await reserve()
    await reserve({ route: '/b' })
    expect(await usage('/c')).toMatchObject({ holds: { open: 2, held: { tokens: 20 } }, rules: [{ used: 20 }] })
  })

  test('the list is bounded, and says how many there are', async () => {
    const { reserve, holds } = await setUp({ ...BUDGET, rules: '1000/hour' })
    await Promise.all(Array.from({ length: 105 }, () => reserve({ hold: 1 })))
    const listed = await holds()
    expect([listed.open, listed.holds.length]).toEqual([105, 100])
  })

  test('metrics count every event of a hold once', async () => {
    const { reserve, end, metrics } = await setUp(BUDGET, { maxHolds: '6' })
    const held = []
    for (let i = 0; i < 6; i++) held.push(await reserve({ hold: 10, ...(i === 5 && { ttl: '5m' }) }))
    await reserve()
    await end('settle', held[0].token)
    await end('settle', held[1].token, { used: 3 })
    await end('settle', held[2].token, { used: { tokens: 11 } })
    await end('cancel', held[3].token)
    for (const { token } of held.slice(0, 4)) await end('settle', token)
    expect(await metrics()).toMatchObject({ holds_open: 2 })
    advance(60_000)
    expect(await metrics()).toEqual({
      holds_open: 1,
      'holds_opened_total{policy="own"}': 6,
      'holds_ended_total{policy="own",end="settled"}': 1,
      'holds_ended_total{policy="own",end="settled_under"}': 1,
      'holds_ended_total{policy="own",end="settled_over"}': 1,
      'holds_ended_total{policy="own",end="cancelled"}': 1,
      'holds_ended_total{policy="own",end="expired"}': 1,
      holds_ended_unlisted_total: 0,
      'holds_refused_total{policy="own"}': 1,
    })
  })

  test('a settle by one number for all rules is not above the places', async () => {
    const { reserve, end, metrics } = await setUp({
      ...BUDGET,
      rules: [BUDGET.rules, { algorithm: 'concurrency', limit: 2, ttl: '30s', name: 'places' }],
    })
    const { token } = await reserve({ hold: { tokens: 40 } })
    expect((await end('settle', token, { used: 12 })).body.data.used).toEqual({ tokens: 12, places: 1 })
    const counted = await metrics()
    expect(counted['holds_ended_total{policy="own",end="settled_under"}']).toBe(1)
    expect(counted['holds_ended_total{policy="own",end="settled_over"}'] ?? 0).toBe(0)
  })

  test('a reserve is counted as a check, once', async () => {
    const { call, reserve } = await setUp()
    await reserve({ hold: 90 })
    await reserve({ hold: 90 })
    await reserve({ hold: 101 })
    const { body } = await call('GET', '/metrics')
    expect(body).toContain('sluice_checks_total{policy="own",outcome="allow",reason="within"} 1')
    expect(body).toContain('sluice_checks_total{policy="own",outcome="deny",reason="limit"} 1')
    expect(body).toContain('sluice_checks_total{policy="own",outcome="deny",reason="cost"} 1')
  })
})

describe('an admin cancels an open hold of the list', () => {
  test('it is audited, and its owner is refused afterwards', async () => {
    const { call, reserve, end, holds, usage } = await setUp()
    const { token } = await reserve()
    const [{ id }] = (await holds()).holds
    const cancelled = await call('POST', '/v1/holds/cancel', { id })
    expect(cancelled.body.data).toEqual({ client_id: 'ada', route: '/a', policy: 'own', id, granted: { tokens: 10 } })
    expect(await usage()).toMatchObject({ holds: { open: 0 }, rules: [{ used: 0 }] })
    expect((await end('settle', token)).body.meta.error).toBe('ERR_HOLD')
    const [entry] = (await call('GET', '/v1/audit?limit=1')).body.data.entries
    expect(entry).toMatchObject({
      action: 'hold.cancel',
      target: 'ada /a',
      after: { policy: 'own', hold: id, granted: { tokens: 10 } },
    })
    expect((await call('POST', '/v1/holds/cancel', { id })).body.meta.error).toBe('ERR_HOLD')
  })

  test('only with the scope admin; the list needs read and reveals no token', async () => {
    const { call, reserve, holds } = await setUp()
    const { token } = await reserve()
    const [{ id }] = (await holds()).holds
    const makeKey = async (scopes: string[]) => (await call('POST', '/v1/keys', { name: scopes.join(), scopes })).body.data.secret
    const both = { 'api-key': await makeKey(['check', 'read']) }
    const listed = await call('GET', '/v1/holds?client_id=ada', undefined, both)
    expect(listed.body.data.open).toBe(1)
    expect(JSON.stringify(listed.body)).not.toContain(token.slice(20, 40))
    expect((await call('POST', '/v1/holds/cancel', { id }, both)).body.meta.error).toBe('ERR_FORBIDDEN')
    const check = { 'api-key': await makeKey(['check']) }
    expect((await call('GET', '/v1/holds?client_id=ada', undefined, check)).body.meta.error).toBe('ERR_FORBIDDEN')
    for (const wrong of [{}, { id: 5 }, { id: 'x' }, { id: token }, { id, force: true }]) {
      expect((await call('POST', '/v1/holds/cancel', wrong)).body.meta.error).toBe('ERR_INPUT')
    }
    expect((await holds()).open).toBe(1)
  })
})

describe('lost answers', () => {
  /** Sends a request and destroys the connection once the service has it. Nothing of the answer is read. */
  async function sendAndLeave({ address, key }: TestService, path: string, body: object): Promise<void> {
    const { hostname, port } = new URL(address)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    await once(socket, 'connect')
    const text = JSON.stringify(body)
    const head = ['Host: x', `Api-Key: ${key}`, 'Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`]
    await new Promise((resolve) => socket.write(`POST ${path} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${text}`, resolve))
    socket.destroy()
  }

  test('of a reserve: the hold expires, and nothing is left of it', async () => {
    const service = await setUp({
      client: 'ada',
      rules: [BUDGET.rules, { algorithm: 'concurrency', limit: 1, ttl: '10s', name: 'places' }],
    })
    const { reserve, usage } = service
    const held = async () => (await usage()).rules.map(({ used }: { used: number }) => used)
    await sendAndLeave(service, '/v1/reserve', { client_id: 'ada', route: '/a', hold: { tokens: 30 } })
    await until('the hold', async () => (await held())[1] === 1)
    expect(await reserve({ hold: { tokens: 1 } })).toMatchObject({ status: 'Deny', retry_after_ms: 10_000 })
    advance(10_000)
    expect(await held()).toEqual([30, 0])
    expect(await reserve({ hold: { tokens: 70 } })).toMatchObject({ status: 'Allow' })
  })

  test('of a settle: it was made once, or the hold expires; never both', async () => {
    const service = await setUp()
    const { reserve, end, usage } = service
    const used = async () => (await usage()).rules[0].used
    let settled = 0
    for (let i = 0; i < 10; i++) {
      const { token } = await reserve({ hold: 5 })
      await sendAndLeave(service, '/v1/settle', { token, used: 1 })
      // The caller must not repeat it. If it does, the store refuses it, or it is the first to arrive.
      const { status, body } = await end('settle', token, { used: 1 })
      expect(status === 200 || body.meta.error === 'ERR_HOLD').toBe(true)
      settled += 1
      await until('one settle', async () => (await used()) === settled)
    }
    advance(60_000)
    expect(await used()).toBe(10)
  })

  test('of a request that is cut in the middle: nothing is held', async () => {
    const service = await setUp()
    const { hostname, port } = new URL(service.address)
    for (const cut of [5, 60, 150]) {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => {})
      await once(socket, 'connect')
      const body = JSON.stringify({ client_id: 'ada', route: '/a', hold: 30 })
      const head = ['Host: x', `Api-Key: ${service.key}`, 'Content-Type: application/json', `Content-Length: ${body.length}`]
      const request = `POST /v1/reserve HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${body}`
      await new Promise((resolve) => socket.write(request.slice(0, Math.min(cut, request.length - 5)), resolve))
      socket.destroy()
    }
    expect(await service.usage()).toMatchObject({ holds: { open: 0 }, rules: [{ used: 0 }] })
  })
})
