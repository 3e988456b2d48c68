// Layers on a database that instances share: one decision over all policies, whichever instance is asked.

import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { until } from '../../../test/servers/redis-server.mjs'
import { DATABASE_NAMES, TEST_DATABASES, type TestDatabase } from './databases/test-database.ts'
import { startService, type TestService, type TestServiceOptions } from './running-service.ts'

/** On a busy machine the database may be slow, and the fallback counters would look like errors. */
const PATIENT = { failureTimeoutMs: '10000' }

describe.each(DATABASE_NAMES)('on %s', (name) => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await TEST_DATABASES[name]()
  })
  beforeEach(() => database.clear())
  afterAll(() => database.stop())

  async function started(options: TestServiceOptions = {}): Promise<TestService> {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    const service = await startService({ ...options, flags: { store: database.store, ...PATIENT, ...options.flags } })
    vi.useRealTimers()
    return service
  }

  // One test for all that two living instances do, because each start of an instance takes a while.
  test('all policies of a request are charged, or none is; a plain counter is kept; a block ends at its time', async () => {
    const a = await started()
    const b = await started({ key: a.key })
    const both = [a, b]
    const known = (policy: string, status = 200) =>
      until(`both to know ${policy}`, async () => (await b.call('GET', `/v1/policies/${policy}`)).status === status)
    const put = async (policy: string, spec: object) => {
      expect((await a.call('PUT', `/v1/policies/${policy}`, spec)).status).toBe(201)
      await known(policy)
    }
    const facts = (client_id: string) => ({ client_id, route: '/a', attributes: { org: 'acme' } })
    const check = async (client: string, i = 0) => (await both[i % 2].call('POST', '/v1/check', facts(client))).body.data
    const used = async (client: string) => {
      const attributes = encodeURIComponent(JSON.stringify({ org: 'acme' }))
      const { rules } = (await b.call('GET', `/v1/usage?client_id=${client}&route=/a&attributes=${attributes}`)).body.data
      return Object.fromEntries(rules.map((rule: { name: string; used: number }) => [rule.name, rule.used]))
    }

    await put('own', { route: '/a', rules: '30/hour' })
    for (let i = 0; i < 2; i++) expect(await check('ada', i)).toMatchObject({ remain: 29 - i, policy: 'own' })

    // Ada and Bob have 30 each, and 40 together.
    await put('org', {
      applies: 'always',
      per: 'org',
      rules: ['40/hour', { algorithm: 'sliding-log', limit: 500, window: '1h' }],
    })
    expect(await used('ada')).toEqual({ 'rule-1': 2, 'org/rule-1': 0, 'org/rule-2': 0 })
    const clients = ['ada', 'bob']
    const answers = await Promise.all(Array.from({ length: 120 }, (_, i) => check(clients[i % 2], i >> 1)))
    const allowed = answers.filter(({ status }) => status === 'Allow').length
    expect(allowed).toBe(40)
    const [ada, bob] = [await used('ada'), await used('bob')]
    expect(ada['rule-1'] + bob['rule-1']).toBe(42)
    for (const each of [ada, bob]) expect(each).toMatchObject({ 'org/rule-1': 40, 'org/rule-2': 40 })
    expect(await check('eve')).toMatchObject({ status: 'Deny', policy: 'org', rule: 'org/rule-1' })
    expect(await used('eve')).toMatchObject({ 'rule-1': 0 })

    // A hold of one instance, over both policies, is settled by the other.
    await a.call('POST', '/v1/refund', { ...facts('ada'), cost: 10 })
    const held = (await a.call('POST', '/v1/reserve', { ...facts('ada'), hold: 5 })).body.data
    expect(held).toMatchObject({ status: 'Allow', granted: { 'rule-1': 5, 'org/rule-1': 5, 'org/rule-2': 5 } })
    const settled = (await b.call('POST', '/v1/settle', { token: held.token, used: 1 })).body.data
    expect(settled.used).toEqual({ 'rule-1': 1, 'org/rule-1': 1, 'org/rule-2': 1 })
    expect((await used('bob'))['org/rule-1']).toBe(31)

    // Every instance ends a block by itself.
    const expires_at = new Date(Date.now() + 1500).toISOString()
    await put('no', { client: 'ada', applies: 'always', mode: 'deny', expires_at })
    const isAllowed = async (instance: TestService) =>
      (await instance.call('POST', '/v1/check', facts('ada'))).body.data.status === 'Allow'
    for (const instance of both) await until('the block to end', () => isAllowed(instance))
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expires_at))
    expect((await b.call('GET', '/v1/policies/no')).body.data).toMatchObject({ expired: true, mode: 'deny' })
  })
})
