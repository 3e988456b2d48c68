// The service on Redis, as far as it differs from other databases.

import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { type RedisServer, startCluster, startRedis, until } from '../../../test/servers/redis-server.mjs'
import { startService, type TestService, type TestServiceOptions } from './running-service.ts'

let redis: RedisServer

beforeAll(async () => {
  redis = await startRedis()
})
beforeEach(async () => {
  await redis.cli('FLUSHALL')
})
afterAll(() => redis.stop())

/** On a busy machine Redis may be slow, and the fallback counters would look like errors. */
const PATIENT = { failureTimeoutMs: '10000' }

async function onRedis(options: TestServiceOptions = {}): Promise<TestService> {
  const service = await startService({
    ...options,
    flags: { store: `redis://127.0.0.1:${redis.port}`, ...PATIENT, ...options.flags },
  })
  // Counters use the clock of Redis, so the clock of this process need not stand still.
  vi.useRealTimers()
  return service
}

test('changes of one policy are found in the audit log behind thousands of other changes', async () => {
  const { call } = await onRedis()
  await call('PUT', '/v1/policies/rare', { client: 'rare', rules: '1/s' })
  const others = `for i = 1, 2500 do
    redis.call('XADD', KEYS[1], '*', 'entry', '{"action":"policy.put","target":"often"}')
  end`
  await redis.cli('EVAL', others, '1', 'sluice:{records}:audit')
  await call('DELETE', '/v1/policies/rare')
  const actionsOf = ({ entries }: { entries: { action: string }[] }) => entries.map(({ action }) => action)
  const whole = (await call('GET', '/v1/audit?target=rare')).body.data
  expect([actionsOf(whole), whole.next]).toEqual([['policy.delete', 'policy.put'], null])
  const first = (await call('GET', '/v1/audit?target=rare&limit=1')).body.data
  expect(actionsOf(first)).toEqual(['policy.delete'])
  const second = (await call('GET', `/v1/audit?target=rare&limit=1&before=${first.next}`)).body.data
  expect(actionsOf(second)).toEqual(['policy.put'])
})

test('a batch is one call to Redis, and answers like single checks', async () => {
  const { call } = await onRedis()
  await call('PUT', '/v1/policies/off', { client: 'off', rules: '1/s', mode: 'off' })
  const calls = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.cli('INFO', 'commandstats'))?.[1] ?? 0)
  await call('POST', '/v1/check', { client_id: 'warm', route: '/a' })
  const before = await calls()
  const checks = Array.from({ length: 1000 }, (_, i) => ({ client_id: i === 0 ? 'off' : `client-${i % 500}`, route: '/a' }))
  const { status, body } = await call('POST', '/v1/check/batch', { checks })
  expect(status).toBe(200)
  expect(await calls()).toBe(before + 1)
  expect(body.data.results).toHaveLength(1000)
  expect(body.data.results[1]).toMatchObject({ status: 'Allow', remain: 99 })
  expect(body.data.results[501]).toMatchObject({ status: 'Allow', remain: 98 })
})

test('a cluster with several addresses: limits are exact, and policies and keys are shared', async () => {
  const cluster = await startCluster()
  onTestFinished(async () => {
    await cluster.stop()
  })
  const store = cluster.primaries.map(({ port }) => `redis://127.0.0.1:${port}`).join()
  const a = await startService({ flags: { store, ...PATIENT } })
  const b = await startService({ flags: { store, ...PATIENT }, key: a.key })
  vi.useRealTimers()
  await a.call('PUT', '/v1/policies/ten', { client: 'ada*', rules: '10/hour' })
  await until('the policy', async () => (await b.call('GET', '/v1/policies/ten')).status === 200, 1000)
  const checks = Array.from({ length: 200 }, (_, i) => ({ client_id: `ada-${i % 10}`, route: '/a' }))
  const answers = await Promise.all([a, b].map(({ call }) => call('POST', '/v1/check/batch', { checks })))
  const allowed = answers.flatMap(({ body }) => body.data.results).filter(({ status }: { status: string }) => status === 'Allow')
  expect(allowed).toHaveLength(100)
})
