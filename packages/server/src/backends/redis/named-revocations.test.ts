import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type RedisServer, startRedis } from '../../../../../test/servers/redis-server.mjs'
import { shareRevoked } from '../records/named-revocations.ts'
import { SharedRecords } from '../records/shared-records.ts'
import { RECORD_KEYS } from './records-programs.ts'
import { RedisConnection } from './redis-connection.ts'
import { redisDatabase } from './redis-database.ts'

const NAMED = RECORD_KEYS[7]

let redis: RedisServer
let connection: RedisConnection

beforeAll(async () => {
  redis = await startRedis()
  connection = new RedisConnection({ kind: 'redis', urls: [`redis://127.0.0.1:${redis.port}`] }, () => {})
  await connection.connect()
})
beforeEach(async () => {
  await redis.cli('FLUSHALL')
})
afterAll(async () => {
  await connection.close()
  await redis.stop()
})

const database = () => redisDatabase(connection.send)

const revokedKeys = (prefix: string, count: number) =>
  new Map(Array.from({ length: count }, (_, n) => [`${prefix}${n}`, { sha256: 'x', revokedAt: n + 1 }] as const))

test('one instance lists its latest thousand revoked keys, all together two thousand, for a limited time', async () => {
  await shareRevoked(revokedKeys('a', 1500), database())
  expect(await redis.cli('HLEN', NAMED)).toBe('1000')
  expect(await redis.cli('HEXISTS', NAMED, 'a499')).toBe('0')
  expect(await redis.cli('HGET', NAMED, 'a500')).toBe('501')
  for (const prefix of ['b', 'c']) await shareRevoked(revokedKeys(prefix, 900), database())
  expect(await redis.cli('HLEN', NAMED)).toBe('2000')
  expect(Number(await redis.cli('PTTL', NAMED))).toBeGreaterThan(0)
})

test('an entry counts only for a key that is known and valid, with a valid time; a long id is not sent', async () => {
  for (const [id, at] of Object.entries({ alive: '5', revoked: '3', unknown: '5', odd: 'soon' })) {
    await redis.cli('HSET', NAMED, id, at)
  }
  const long = 'x'.repeat(65)
  const keys = new Map<string, unknown>([
    ['alive', { sha256: 'x' }],
    ['revoked', { revokedAt: 9 }],
    ['odd', { sha256: 'x' }],
    ['broken', null],
    [long, { revokedAt: 9 }],
  ])
  expect(await shareRevoked(keys, database())).toEqual([{ kind: 'key', id: 'alive', value: { sha256: 'x', revokedAt: 5 } }])
  expect(await redis.cli('HEXISTS', NAMED, long)).toBe('0')
})

test('a revocation learned from another instance is written when the loss ends without a restore', async () => {
  const records = new SharedRecords({ database: redisDatabase(connection.send) })
  await records.poll()
  await records.commit([{ kind: 'key', id: 'k', value: { sha256: 'x' } }])
  await redis.cli('SET', RECORD_KEYS[5], '9 process 7 on elsewhere')
  await redis.cli('HSET', NAMED, 'k', '5')
  await records.poll()
  expect(records.all('key').get('k')).toEqual({ sha256: 'x', revokedAt: 5 })
  await redis.cli('DEL', RECORD_KEYS[5], NAMED)
  await records.poll()
  await records.writeOwed()
  expect(JSON.parse(await redis.cli('HGET', RECORD_KEYS[1], 'k'))).toEqual({ sha256: 'x', revokedAt: 5 })
  await records.close()
})
