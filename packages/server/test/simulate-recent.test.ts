// POST /v1/simulate: the checks of the last hour under proposed policies.

import { Redis } from 'ioredis'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { until } from '../../../test/servers/redis-server.mjs'
import { LIMITS } from '../src/contract/limits.ts'
import { readPolicy } from '../src/policies/policy.ts'
import { PolicyBook } from '../src/policies/policy-book.ts'
import { simulateRecent } from '../src/simulate/replay/recent-traffic.ts'
import { Simulation } from '../src/simulate/replay/simulation.ts'
import { entriesOf, RlsClient, rlsAddress } from './rls-client.ts'
import { advance, START, startService, type TestService } from './running-service.ts'

let service: TestService
beforeEach(async () => {
  service = await startService()
})

const check = (client_id: string, route = '/orders', more = {}) =>
  service.call('POST', '/v1/check', { client_id, route, ...more })

async function simulated(body: object) {
  const { status, body: answer } = await service.call('POST', '/v1/simulate', body)
  expect(status, JSON.stringify(answer)).toBe(200)
  return answer.data
}

describe('a simulation of recent traffic', () => {
  test('has the clients who would feel a proposed policy, and changes nothing', async () => {
    for (let i = 0; i < 4; i++) {
      await check('ada')
      advance(1000)
    }
    await check('bob')
    await check('eve', '/other')
    const proposed = { name: 'orders', route: '/orders', rules: '2/minute' }
    const report = await simulated({ policies: [proposed] })
    expect(report).toMatchObject({
      ...{ requests: 6, denied: 2, clients: 3, clients_denied: 1 },
      sample: { instances_up: 1, decided: 6, share: 1, missed: 0, since: new Date(START).toISOString() },
      change: { denied_before: 0, newly_denied: 2, newly_allowed: 0, clients_newly_denied: 1 },
      top_clients: [{ client_id: 'ada', requests: 4, newly_denied: 2 }],
    })
    const [orders] = report.policies
    expect(orders).toMatchObject({
      ...{ name: 'orders', requests: 5 },
      rules: [{ words: '2/minute', denied: 2, clients: 1, smallest_limits: { clients: 2, p99: 4, p999: 4, all: 4 } }],
    })
    expect(report.policies.at(-1)).toMatchObject({ name: 'default', rules: [{ smallest_limits: null }] })
    expect((await service.call('GET', '/v1/policies/orders')).status).toBe(404)
    expect((await service.call('GET', '/v1/usage?client_id=ada&route=/orders')).body.data.rules[0].used).toBe(4)
    // The replay itself is no traffic.
    expect((await simulated({})).requests).toBe(6)
  })

  test('compares with the policies in force, and can leave some of them out', async () => {
    await service.call('PUT', '/v1/policies/orders', { route: '/orders', rules: '1/minute' })
    const taken = await service.call('POST', '/v1/simulate', { policies: [{ name: 'b', route: '/orders', rules: '1/minute' }] })
    expect(taken).toMatchObject({ status: 409, body: { meta: { error: 'ERR_POLICY_TAKEN' } } })
    for (let i = 0; i < 3; i++) await check('ada')
    expect((await simulated({})).change).toMatchObject({ denied_before: 2, newly_denied: 0, newly_allowed: 0 })
    expect((await simulated({ without: ['orders'] })).change).toMatchObject({ denied_before: 2, newly_allowed: 2 })
    const cost = { name: 'orders', route: '/orders', rules: '2/minute' }
    expect((await simulated({ policies: [cost] })).change).toMatchObject({ denied_before: 2, newly_allowed: 1, newly_denied: 0 })
  })

  test('replays attributes, costs and forwarded paths as they were decided', async () => {
    await check('ada', '/a', { attributes: { plan: 'free' } })
    await check('ada', '/a', { attributes: { plan: 'paid' } })
    await check('ada', '/a', { cost: 5 })
    for (const path of ['/1', '/2', '/3']) {
      const headers = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-uri': path }
      await service.call('GET', '/v1/authorize', undefined, headers)
    }
    const free = await simulated({ policies: [{ name: 'free', where: { plan: 'free' }, mode: 'deny' }] })
    expect(free.change).toMatchObject({ newly_denied: 1 })
    const dear = await simulated({ policies: [{ name: 'a', route: '/a', rules: '4/minute' }] })
    expect(dear.change).toMatchObject({ newly_denied: 1 })
    expect((await simulated({})).requests).toBe(6)
  })

  test('names the instance whose checks it has', async () => {
    const [{ id }] = (await service.call('GET', '/v1/fleet')).body.data.instances
    expect((await simulated({})).sample.instance).toBe(id)
  })

  test('ends when its caller has gone, so that the next one need not wait for it', async () => {
    const checks = Array.from({ length: 1000 }, (_, i) => ({ client_id: `c${i}`, route: '/' }))
    for (let i = 0; i < 15; i++) await service.call('POST', '/v1/check/batch', { checks })
    const replayed = vi.spyOn(Simulation.prototype, 'replay')
    onTestFinished(() => replayed.mockRestore())
    const gone = new AbortController()
    const headers = { 'api-key': service.key, 'content-type': 'application/json' }
    const asked = fetch(`${service.address}/v1/simulate`, { method: 'POST', headers, body: '{}', signal: gone.signal })
    await until('the replay', async () => replayed.mock.calls.length > 0)
    gone.abort()
    await expect(asked).rejects.toThrow()
    let whole = 0
    await until('the next one', async () => {
      const { status, body } = await service.call('POST', '/v1/simulate', {})
      if (status === 200) whole = body.data.requests
      return status === 200
    })
    const first = replayed.mock.calls.length - whole
    expect(first).toBeGreaterThan(0)
    expect(first).toBeLessThan(whole)
  })

  test('leaves out calls with a limit of their own, and the built-in policy for descriptors', async () => {
    const doors = await startService({ flags: { rls: '127.0.0.1:0', resp: '127.0.0.1:0' } })
    const redis = new Redis(`${doors.addresses.find((each) => each.startsWith('redis:'))}`.replace('//', `//:${doors.key}@`))
    onTestFinished(() => redis.disconnect())
    for (let i = 0; i < 200; i++) await redis.call('CL.THROTTLE', 'ada', 1000, 1, 60)
    const rls = new RlsClient(rlsAddress(doors), { 'x-api-key': doors.key })
    await doors.call('PUT', '/v1/policies/a', { route: 'edge|a', rules: '150/minute' })
    for (let i = 0; i < 200; i++) await rls.hit({ a: 'b' })
    const limit = { requests_per_unit: 1000, unit: 2 }
    await rls.ask({ domain: 'edge', descriptors: [{ entries: entriesOf({ a: 'b' }), limit }] })
    const without = await doors.call('POST', '/v1/simulate', { without: ['a'] })
    expect(without.body.data).toMatchObject({
      ...{ requests: 200, denied: 0, policies: [] },
      change: { denied_before: 50, newly_denied: 0, newly_allowed: 50 },
    })
    expect((await doors.call('POST', '/v1/simulate', {})).body.data).toMatchObject({ denied: 50, change: { newly_allowed: 0 } })
  })

  test('replays forwarded paths as such, also without the policy that decided them', async () => {
    await service.call('PUT', '/v1/policies/open', { client: '192.0.2.1', mode: 'off', rules: '1/second' })
    for (let i = 0; i < 101; i++) {
      const headers = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-uri': `/${i}` }
      expect((await service.call('GET', '/v1/authorize', undefined, headers)).status).toBe(200)
    }
    // The built-in policy counts all routes of a client together then: 100 a minute.
    expect((await simulated({ without: ['open'] })).change).toMatchObject({ denied_before: 0, newly_denied: 1 })
  })

  test('changes nothing if nothing is changed, also if a policy has expired since', async () => {
    const expires_at = new Date(Date.now() + 60_000).toISOString()
    await service.call('PUT', '/v1/policies/orders', { route: '/orders', rules: '1/hour', expires_at })
    for (let i = 0; i < 3; i++) await check('ada')
    advance(61_000)
    for (let i = 0; i < 3; i++) await check('ada')
    const { denied, change } = await simulated({})
    expect({ denied, ...change }).toMatchObject({ denied: 2, denied_before: 2, newly_denied: 0, newly_allowed: 0 })
    // A policy that took the place of the expired one is compared with.
    await service.call('PUT', '/v1/policies/newer', { route: '/orders', rules: '2/hour' })
    expect((await simulated({ without: ['newer'] })).change).toMatchObject({ denied_before: 4, newly_allowed: 4 })
  })

  test('forgets what is older than an hour', async () => {
    await check('ada')
    advance(61 * 60_000)
    await check('bob')
    expect(await simulated({})).toMatchObject({ requests: 1, clients: 1 })
  })
})

describe('it is refused', () => {
  test.each([
    [{ policies: [{ name: 'x', route: '/x', rules: '5/never' }] }, 'ERR_INPUT', 400],
    [{ policies: [{ route: '/x', rules: '5/minute' }] }, 'ERR_INPUT', 400],
    [
      {
        policies: [
          { name: 'a', route: '/x', rules: '5/minute' },
          { name: 'b', route: '/x', rules: '5/minute' },
        ],
      },
      'ERR_INPUT',
      400,
    ],
    [
      {
        policies: Array.from({ length: LIMITS.mostSimulated + 1 }, (_, i) => ({
          name: `p${i}`,
          route: `/${i}`,
          rules: '5/minute',
        })),
      },
      'ERR_INPUT',
      400,
    ],
    [{ minutes: 5 }, 'ERR_INPUT', 400],
  ])('%#', async (body, code, status) => {
    const answer = await service.call('POST', '/v1/simulate', body)
    expect(answer).toMatchObject({ status, body: { meta: { error: code } } })
    // A refusal leaves nothing running.
    expect(await simulated({})).toMatchObject({ requests: 0 })
  })

  test('without the scope admin, and while another one runs', async () => {
    const { body } = await service.call('POST', '/v1/keys', { name: 'reader', scopes: ['read'] })
    const refused = await service.call('POST', '/v1/simulate', {}, { 'api-key': body.data.secret })
    expect(refused.status).toBe(403)
    const checks = Array.from({ length: 1000 }, (_, i) => ({ client_id: `c${i}`, route: '/' }))
    for (let i = 0; i < 5; i++) await service.call('POST', '/v1/check/batch', { checks })
    const answers = await Promise.all(Array.from({ length: 4 }, () => service.call('POST', '/v1/simulate', {})))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses[0]).toBe(200)
    expect(statuses.slice(1).every((status) => status === 200 || status === 503)).toBe(true)
    expect(statuses).toContain(503)
  })
})

test('other work goes on meanwhile, however many rules a check has and however many policies there are', async () => {
  const book = new PolicyBook()
  const others = Array.from({ length: 20_000 }, (_, i) => ({ name: `p${i}`, client: `other-${i}`, rules: '10/minute' }))
  book.replaceApiPolicies(others.map((spec) => readPolicy(spec, 'api')))
  const rules = Array.from({ length: 16 }, (_, i) => ({ algorithm: 'fixed-window', limit: 10 + i, window: '1h', name: `r${i}` }))
  const changes = Array.from({ length: 8 }, (_, i) => ({ name: `layer-${i}`, applies: 'always', rules }))
  const checks = Array.from({ length: 1000 }, (_, i) => ({ timeMs: START + i, clientId: `c${i % 9}`, route: '/', cost: 1 }))
  let turns = 0
  let isDone = false
  const count = (): void => {
    turns += 1
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const { user } = process.cpuUsage()
  const simulation = await simulateRecent({
    sample: { checks, share: 1, missed: 0, decided: 0, sinceMs: START },
    current: book,
    changes,
    without: [],
  })
  isDone = true
  const cpuMs = (process.cpuUsage().user - user) / 1000
  expect(simulation.requests).toBe(1000)
  // Turns of 3 ms, with much to spare for the compiler and the collector. With a fixed number of checks there were two turns.
  expect(turns).toBeGreaterThan(cpuMs / 40)
})
