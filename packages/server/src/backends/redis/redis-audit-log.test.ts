import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type RedisServer, startRedis } from '../../../../../test/servers/redis-server.mjs'
import { redisAuditTrail } from './redis-audit-log.ts'
import { RedisConnection } from './redis-connection.ts'

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

async function connect() {
  const connection = new RedisConnection({ kind: 'redis', urls: [`redis://127.0.0.1:${redis.port}`] }, () => {})
  await connection.connect()
  onTestFinished(() => connection.close())
  return connection
}

test('sign-ins have a stream of their own, and never displace a change', async () => {
  const { send } = await connect()
  const trail = redisAuditTrail(send)
  await trail.append({ actor: 'k1', action: 'policy.put', target: 'p' })
  const signIn = { actor: 'k1', action: 'session.start', target: 'k1' }
  for (let i = 0; i < 25; i++) await Promise.all(Array.from({ length: 1000 }, () => trail.append(signIn)))
  expect(await trail.read()).toMatchObject({ entries: [{ action: 'policy.put' }], next: undefined })
  expect((await trail.read({ of: 'sign-ins', limit: 1 })).entries).toMatchObject([{ action: 'session.start' }])
  expect(await send('x', ['XLEN', 'sluice:{records}:audit'])).toBe(1)
  const kept = (await send('x', ['XLEN', 'sluice:{records}:audit-sign-ins'])) as number
  expect(kept).toBeGreaterThanOrEqual(20_000)
  expect(kept).toBeLessThan(21_000)
})

test('entries that are too old are removed with the next one', async () => {
  const { send } = await connect()
  await send('x', ['DEL', 'sluice:{records}:audit', 'sluice:{records}:audit-sign-ins'])
  const dayMs = 86_400_000
  const fill = `
    local t = redis.call('TIME')
    local ms = t[1] * 1000 - tonumber(ARGV[1])
    for i = 0, 999 do
      redis.call('XADD', KEYS[1], string.format('%.0f-%d', ms, i), 'entry', '{"action":"old","target":"t"}')
    end`
  const trail = redisAuditTrail(send)
  const ages = [
    ['sluice:{records}:audit', 364, 1000],
    ['sluice:{records}:audit-sign-ins', 91, 0],
  ] as const
  for (const [stream, days] of ages) await send('x', ['EVAL', fill, '1', stream, String(days * dayMs)])
  await trail.append({ actor: 'k1', action: 'policy.put', target: 'p' })
  await trail.append({ actor: 'k1', action: 'session.start', target: 'k1' })
  for (const [stream, , most] of ages) {
    const left = (await send('x', ['XLEN', stream])) as number
    // Redis removes whole nodes of a hundred entries, so some may be left.
    expect(left, stream).toBeGreaterThanOrEqual(most)
    expect(left, stream).toBeLessThanOrEqual(most + 100)
  }
})
