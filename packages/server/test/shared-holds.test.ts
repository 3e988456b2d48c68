// Holds on a database that instances share: a hold of one instance is ended on another, once, and expires if nobody ends it.

import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { until } from '../../../test/servers/redis-server.mjs'
import { DATABASE_NAMES, TEST_DATABASES, type TestDatabase } from './databases/test-database.ts'
import { startService, type TestService, type TestServiceOptions } from './running-service.ts'

/** On a busy machine the database may be slow, and the fallback counters would look like errors. */
const PATIENT = { failureTimeoutMs: '10000' }

const BUDGET = {
  client: '*',
  route: '/a*',
  rules: [
    { algorithm: 'fixed-window', limit: 100, window: '1h', name: 'tokens' },
    { algorithm: 'concurrency', limit: 5, ttl: '1m', name: 'places' },
  ],
}

describe.each(DATABASE_NAMES)('on %s', (name) => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await TEST_DATABASES[name]()
  })
  beforeEach(() => database.clear())
  afterAll(() => database.stop())

  async function started(options: TestServiceOptions = {}): Promise<TestService> {
    // Counters use the clock of the database, so that of the service must not be the one of other tests.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    const service = await startService({ ...options, flags: { store: database.store, ...PATIENT, ...options.flags } })
    vi.useRealTimers()
    return service
  }

  async function twoInstances() {
    const a = await started()
    const b = await started({ key: a.key })
    await a.call('PUT', '/v1/policies/own', BUDGET)
    await until('both to know the policy', async () => (await b.call('GET', '/v1/policies/own')).status === 200)
    return { a, b }
  }

  /** Calls for a client of its own, because counters outlive a test. */
  function callsOf(client_id: string) {
    const reserve = async ({ call }: TestService, more: object = {}) =>
      (await call('POST', '/v1/reserve', { client_id, route: '/a', hold: { tokens: 20 }, ...more })).body.data
    const end = (how: string, { call }: TestService, token: string, more: object = {}) =>
      call('POST', `/v1/${how}`, { token, ...more })
    const used = async ({ call }: TestService) => {
      const { rules } = (await call('GET', `/v1/usage?client_id=${client_id}&route=/a`)).body.data
      return rules.map((rule: { used: number }) => rule.used)
    }
    const holds = async ({ call }: TestService) => (await call('GET', `/v1/holds?client_id=${client_id}`)).body.data
    return { reserve, end, used, holds }
  }

  // One test for all that two living instances do, because each start of an instance takes a while.
  test('a hold counts on both instances, and is ended once, by any of them', async () => {
    const { a, b } = await twoInstances()
    const both = [a, b]

    // Each ends holds of the other.
    const { reserve, end, used, holds } = callsOf('each')
    const [first, second] = [await reserve(a), await reserve(b)]
    expect(first).toMatchObject({ status: 'Allow', granted: { tokens: 20, places: 1 } })
    for (const one of both) expect(await used(one)).toEqual([40, 2])
    const settled = await end('settle', b, first.token, { used: { tokens: 7 } })
    expect(settled.body.data).toMatchObject({ used: { tokens: 7, places: 1 } })
    expect((await end('extend', a, second.token, { ttl: '5m' })).status).toBe(200)
    expect((await end('cancel', a, second.token)).status).toBe(200)
    for (const one of both) expect(await used(one)).toEqual([7, 0])

    // The list of an instance has its own holds. Its metrics know that it ended those of another.
    expect([(await holds(a)).open, (await holds(b)).open]).toEqual([1, 1])
    const { body } = await b.call('GET', '/metrics')
    expect(body).toContain('sluice_holds_ended_total{policy="own",end="settled_under"} 1')
    expect(body).toContain('sluice_holds_ended_unlisted_total 1')
    const [{ id }] = (await holds(a)).holds
    expect((await a.call('POST', '/v1/holds/cancel', { id })).body.meta.error).toBe('ERR_HOLD')

    // One of many ends at once wins.
    const many = callsOf('many')
    for (const how of ['settle', 'cancel']) {
      const { token } = await many.reserve(a)
      const ends = Array.from({ length: 20 }, (_, i) => end(i % 3 === 0 ? how : 'settle', both[i % 2], token))
      const answers = await Promise.all(ends)
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      expect(answers.filter((answer) => answer.body.meta.error === 'ERR_HOLD')).toHaveLength(19)
    }
    const [tokens, places] = await many.used(b)
    expect([[20, 40].includes(tokens), places]).toEqual([true, 0])

    // A stampede takes no more places than there are.
    const stampede = callsOf('stampede')
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) => stampede.reserve(both[i % 2], { hold: { tokens: 1 } })),
    )
    const held = answers.filter(({ status }) => status === 'Allow')
    expect(held).toHaveLength(5)
    expect(await stampede.used(a)).toEqual([5, 5])
    await Promise.all(held.map(({ token }, i) => end('settle', both[(i + 1) % 2], token, { used: 0 })))
    expect(await stampede.used(b)).toEqual([0, 0])

    // A policy in shadow mode holds beside the enforced one, and any instance ends both.
    const trial = { ...BUDGET, applies: 'always', client: 'shadowed', mode: 'shadow' }
    await a.call('PUT', '/v1/policies/trial', trial)
    await until('both to know the trial', async () => (await b.call('GET', '/v1/policies/trial')).status === 200)
    const shadowed = callsOf('shadowed')
    const followed = [await shadowed.reserve(a), await shadowed.reserve(b)]
    expect(await shadowed.used(b)).toEqual([40, 2, 40, 2])
    expect((await end('settle', b, followed[0].token, { used: { tokens: 7 } })).body.data.used).toEqual({ tokens: 7, places: 1 })
    expect((await end('cancel', a, followed[1].token)).status).toBe(200)
    expect(await shadowed.used(a)).toEqual([7, 0, 7, 0])
  })

  test('a hold whose instance has gone is ended by another, or expires by itself', async () => {
    const { a, b } = await twoInstances()
    const { reserve, end, used } = callsOf('gone')
    const [short, long] = [await reserve(a, { ttl: '300ms' }), await reserve(a)]
    await a.close()
    await until('the end of the hold', async () => (await used(b))[1] === 1)
    expect(await used(b)).toEqual([40, 1])
    expect((await end('settle', b, short.token)).body.meta.error).toBe('ERR_HOLD')
    expect((await end('settle', b, long.token, { used: 5 })).status).toBe(200)
    expect(await used(b)).toEqual([25, 0])
  })
})
