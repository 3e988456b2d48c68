// Thousands of policies in use, and Redis killed: the fallback counters limit every one of them.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startRedis } from '../../../test/servers/redis-server.mjs'
import { startService, type TestService } from './running-service.ts'
import { temporaryFolder } from './temporary-folder.ts'

const POLICIES = 10_000
const A_BATCH = 1000

/** Each policy allows its client once a day. */
async function withPolicies(flags: Record<string, string>) {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  const file = join(temporaryFolder(), 'sluice.json')
  const policies = Array.from({ length: POLICIES }, (_, i) => ({ name: `p${i}`, client: `c${i}`, rules: '1/day' }))
  writeFileSync(file, JSON.stringify({ policies }))
  const service = await startService({ flags: { config: file, store: `redis://127.0.0.1:${redis.port}`, ...flags } })
  vi.useRealTimers()
  return { redis, service }
}

/** Checks the client of each policy once, all at the same time. Returns the number of allowed checks. */
async function round({ call }: TestService): Promise<number> {
  const batches = Array.from({ length: POLICIES / A_BATCH }, (_, batch) =>
    Array.from({ length: A_BATCH }, (_, i) => ({ client_id: `c${batch * A_BATCH + i}`, route: '/a' })),
  )
  const answers = await Promise.all(batches.map((checks) => call('POST', '/v1/check/batch', { checks })))
  const results = answers.flatMap(({ body }) => body.data.results as { status: string }[])
  expect(results).toHaveLength(POLICIES)
  return results.filter(({ status }) => status === 'Allow').length
}

async function fallbacks({ call }: TestService): Promise<number> {
  const metrics = (await call('GET', '/metrics')).body as string
  return Number(/sluice_fallback_decisions_total\{mode="local"\} (\d+)/.exec(metrics)?.[1])
}

test('the first use of 10,000 policies at once is decided by Redis; when Redis is killed, each is still limited', async () => {
  const { redis, service } = await withPolicies({ failureTimeoutMs: '2000' })
  expect(await round(service)).toBe(POLICIES)
  expect(await fallbacks(service)).toBe(0)
  await redis.kill()
  expect(await round(service)).toBe(POLICIES)
  for (let i = 0; i < 2; i++) expect(await round(service)).toBe(0)
  expect(await fallbacks(service)).toBe(3 * POLICIES)
})

test('the maximum of fallback counters is an option of its own', async () => {
  const { redis, service } = await withPolicies({ failureMaxKeys: '500', maxKeys: '1000000' })
  await redis.kill()
  await round(service)
  expect(await round(service)).toBeGreaterThan(POLICIES / 2)
})
