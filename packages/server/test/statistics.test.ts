// Statistics over HTTP: stats, top clients, events, metrics.

import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { until } from '../../../test/servers/redis-server.mjs'
import { advance, START, startService, type TestService } from './running-service.ts'

async function traffic({ call }: TestService): Promise<void> {
  await call('PUT', '/v1/policies/tight', { client: 'tight*', rules: '2/hour' })
  await call('PUT', '/v1/policies/watched', { client: 'watched', rules: '1/hour', mode: 'shadow' })
  await call('PUT', '/v1/policies/off', { client: 'off', rules: '1/hour', mode: 'off' })
  const check = (client_id: string, cost = 1) => call('POST', '/v1/check', { client_id, route: '/a', cost })
  for (let i = 0; i < 5; i++) await check('tight-ada')
  await check('tight-bob', 99)
  for (let i = 0; i < 3; i++) await check('watched')
  await check('off')
  advance(2000)
  await check('mallory', 85)
}

describe('GET /v1/stats', () => {
  test('has the last hour by the second, by policy', async () => {
    const service = await startService()
    await traffic(service)
    const { data } = (await service.call('GET', '/v1/stats?seconds=3')).body
    expect(data).toEqual({
      from: START / 1000,
      seconds: 3,
      allowed: [4, 0, 1],
      denied: [4, 0, 0],
      shadow_denied: [2, 0, 0],
      errors: [0, 0, 0],
      policies: [
        { name: 'tight', allowed: 2, denied: 4, shadow_denied: 0, errors: 0 },
        { name: 'watched', allowed: 1, denied: 0, shadow_denied: 2, errors: 0 },
        { name: 'off', allowed: 1, denied: 0, shadow_denied: 0, errors: 0 },
        { name: 'default', allowed: 1, denied: 0, shadow_denied: 0, errors: 0 },
      ],
      policies_complete: true,
      since_start: { started_at: '2027-01-15T08:00:19.000Z', allowed: 5, denied: 4, shadow_denied: 2, errors: 0 },
    })
    const tight = (await service.call('GET', '/v1/stats?seconds=3&policy=tight')).body.data
    expect(tight).toMatchObject({ allowed: [2, 0, 0], denied: [4, 0, 0], since_start: { denied: 4 } })
    expect((await service.call('GET', '/v1/stats?policy=nope')).status).toBe(404)
    expect((await service.call('GET', '/v1/stats')).body.data.allowed).toHaveLength(3600)
    expect((await service.call('GET', '/v1/stats?seconds=3601')).status).toBe(400)
  })

  test('a flood of policies does not grow it: above a hundred they are counted together', async () => {
    const { call } = await startService()
    for (let i = 0; i < 105; i++) {
      await call('PUT', `/v1/policies/p${i}`, { client: `c${i}`, rules: '5/hour' })
      await call('POST', '/v1/check', { client_id: `c${i}`, route: '/a' })
    }
    const { policies, policies_complete, allowed } = (await call('GET', '/v1/stats?seconds=1')).body.data
    expect(policies_complete).toBe(false)
    expect((await call('GET', '/v1/history')).body.data.policies_complete).toBe(false)
    expect(policies).toHaveLength(101)
    expect(policies.find(({ name }: { name: string }) => name === 'other')).toMatchObject({ allowed: 5 })
    expect(allowed).toEqual([105])
    advance(3_601_000)
    await call('POST', '/v1/check', { client_id: 'c104', route: '/b' })
    await call('PUT', '/v1/policies/new', { client: 'new', rules: '5/hour' })
    await call('POST', '/v1/check', { client_id: 'new', route: '/b' })
    expect((await call('GET', '/v1/stats?policy=new&seconds=1')).body.data.allowed).toEqual([1])
  })
})

test('GET /v1/top has the busiest clients, with the error of each count', async () => {
  const lately = (count: number) => [...new Array(59).fill(0), count]
  const service = await startService()
  await traffic(service)
  expect((await service.call('GET', '/v1/top')).body.data).toEqual({
    by: 'denied',
    clients: [
      { client_id: 'tight-ada', count: 3, error: 0, minutes: lately(3) },
      { client_id: 'tight-bob', count: 1, error: 0, minutes: lately(1) },
    ],
    unlisted_at_most: 0,
  })
  const allowed = (await service.call('GET', '/v1/top?by=allowed&limit=1')).body.data
  const watched = { client_id: 'watched', count: 3, error: 0, minutes: lately(3) }
  expect(allowed).toEqual({ by: 'allowed', clients: [watched], unlisted_at_most: 2 })
})

test('GET /v1/activity has the last hour of one client by the minute', async () => {
  const service = await startService()
  await traffic(service)
  const read = async (client_id: string) => (await service.call('GET', `/v1/activity?client_id=${client_id}`)).body.data
  const lately = (...counts: number[]) => [...new Array(60 - counts.length).fill(0), ...counts]
  const first = Date.parse('2027-01-15T07:01:00Z') / 1000
  const ada = { client_id: 'tight-ada', from: first, minutes: 60, allowed: lately(2), denied: lately(3) }
  const exact = { allowed_missing_at_most: 0, denied_missing_at_most: 0, started_at: new Date(START).toISOString() }
  expect(await read('tight-ada')).toEqual({ ...ada, ...exact })
  expect(await read('watched')).toMatchObject({ allowed: lately(3), denied: lately() })
  expect(await read('nobody')).toMatchObject({ allowed: lately(), denied: lately(), ...exact })
  advance(120_000)
  await service.call('POST', '/v1/check', { client_id: 'tight-ada', route: '/a' })
  expect(await read('tight-ada')).toMatchObject({ from: first + 120, allowed: lately(2, 0, 0), denied: lately(3, 0, 1) })
  for (const query of ['', '?client_id=', `?client_id=${'x'.repeat(257)}`, '?client_id=a&hours=1'])
    expect((await service.call('GET', `/v1/activity${query}`)).status).toBe(400)
})

describe('GET /v1/events', () => {
  async function listen({ address, key }: TestService) {
    const response = await fetch(`${address}/v1/events`, { headers: { 'api-key': key } })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    let text = ''
    const events = async (count: number) => {
      for (;;) {
        const found = [...text.matchAll(/event: (\w+)\ndata: (.*)\n\n/g)]
        if (found.length >= count) return found.map(([, name, data]) => ({ name, data: JSON.parse(data) }))
        const { value, done } = await reader.read()
        if (done) throw new Error(`the stream ended after ${found.length} events`)
        text += new TextDecoder().decode(value)
      }
    }
    return { events, reader }
  }

  test('sends the latest denials, then new checks, with the reason', async () => {
    const service = await startService()
    const { call } = service
    await call('PUT', '/v1/policies/tight', { client: 'ada', rules: '1/hour' })
    const check = (route: string) => call('POST', '/v1/check', { client_id: 'ada', route })
    await check('/a')
    await check('/a')
    const { events, reader } = await listen(service)
    expect(await events(1)).toEqual([
      {
        name: 'check',
        data: {
          time: '2027-01-15T08:00:19.000Z',
          client_id: 'ada',
          route: '/a',
          cost: 1,
          policy: 'tight',
          outcome: 'deny',
          reason: 'limit',
          rule: 'rule-1',
          limit: 1,
          remain: 0,
          retry_after_ms: 3_600_000,
          source: 'store',
          skipped: 0,
        },
      },
    ])
    await check('/b')
    expect((await events(2))[1].data).toMatchObject({ route: '/b', outcome: 'allow', reason: 'within' })
    await reader.cancel()
  })

  test('a reader that does not read delays nothing, and gets the number of dropped events', async () => {
    const service = await startService()
    await service.call('PUT', '/v1/policies/tight', { client: 'ada*', rules: '1/day', scope: 'policy' })
    const { hostname, port } = new URL(service.address)
    const socket = connect(Number(port), hostname)
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.write(`GET /v1/events HTTP/1.1\r\nHost: x\r\nApi-Key: ${service.key}\r\n\r\n`)
    await until('the stream to begin', async () => text.includes('text/event-stream'))
    socket.pause()
    const checks = Array.from({ length: 100 }, () => ({ client_id: 'ada', route: `/${'x'.repeat(2000)}` }))
    // Some ten megabytes of events: more than the buffers of the sockets.
    for (let second = 0; second < 100; second++) {
      advance(1000)
      expect((await service.call('POST', '/v1/check/batch', { checks })).status).toBe(200)
    }
    socket.resume()
    const numbers = () => ({
      sent: text.match(/event: check/g)?.length ?? 0,
      dropped: [...text.matchAll(/event: dropped\ndata: \{"count":(\d+)\}/g)].reduce((sum, [, count]) => sum + Number(count), 0),
    })
    await until('the rest to come', async () => numbers().sent + numbers().dropped === 100 * 100)
    expect(numbers().dropped).toBeGreaterThan(100)
    socket.destroy()
  })

  test('a stream ends when its key is revoked', async () => {
    const service = await startService()
    const { key, secret } = (await service.call('POST', '/v1/keys', { name: 'watcher', scopes: ['read'] })).body.data
    const { events } = await listen({ ...service, key: secret })
    const ended = events(1).catch((error: Error) => error.message)
    await service.call('DELETE', `/v1/keys/${key.id}`)
    expect(await ended).toBe('the stream ended after 0 events')
  })

  test('a stop of the service ends the stream', async () => {
    const service = await startService()
    const { events, reader } = await listen(service)
    const ended = events(1).catch((error: Error) => error.message)
    await service.close()
    expect(await ended).toBe('the stream ended after 0 events')
    await reader.cancel()
  })
})

describe('GET /metrics', () => {
  test('has the documented names, and no client, route or key', async () => {
    const service = await startService()
    await traffic(service)
    const { body, headers } = await service.call('GET', '/metrics')
    expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    for (const line of [
      'sluice_checks_total{policy="tight",outcome="deny",reason="limit"} 3',
      'sluice_checks_total{policy="tight",outcome="deny",reason="cost"} 1',
      'sluice_checks_total{policy="watched",outcome="allow",reason="shadow"} 2',
      'sluice_checks_total{policy="off",outcome="allow",reason="off"} 1',
      'sluice_shadow_denied_total{policy="watched"} 2',
      'sluice_near_limit_total{policy="default"} 1',
      'sluice_policy_limit{policy="tight",rule="rule-1"} 2',
      'sluice_policy_window_seconds{policy="tight",rule="rule-1"} 3600',
      'sluice_store_up{store="memory"} 1',
      'sluice_breaker_state 0',
      'sluice_check_duration_seconds_count 11',
      'sluice_keys 3',
      'sluice_evictions_total 0',
      'sluice_policies 4',
      'sluice_ready 1',
    ]) {
      expect(body).toContain(`${line}\n`)
    }
    // The name of one metric happens to contain that of a client.
    const text = body.replaceAll('unreadable', '')
    for (const hidden of ['ada', 'bob', 'mallory', '/a', service.key, service.key.split('_')[1]])
      expect(text).not.toContain(hidden)
    for (const line of (body as string).trim().split('\n')) {
      expect(line).toMatch(/^(# (HELP|TYPE) sluice_\w+ .+|sluice_\w+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [0-9.e+-]+)$/)
    }
  })

  test('counts failed authentications', async () => {
    const { call } = await startService()
    for (let i = 0; i < 22; i++) await call('GET', '/v1/keys', undefined, { 'api-key': 'guess' })
    const { body } = await call('GET', '/metrics')
    expect(body).toContain('sluice_failed_authentications_total{answer="refused"} 20\n')
    expect(body).toContain('sluice_failed_authentications_total{answer="limited"} 2\n')
  })
})
