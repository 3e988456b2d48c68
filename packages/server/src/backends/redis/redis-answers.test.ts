import { expect, onTestFinished, test } from 'vitest'
import { startRedis } from '../../../../../test/servers/redis-server.mjs'
import { SharedRecords } from '../records/shared-records.ts'
import { redisTrouble } from './redis-answers.ts'
import { RedisConnection } from './redis-connection.ts'
import { redisDatabase } from './redis-database.ts'

test('a Redis that refuses is distinguished from one that does not answer', async () => {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  await redis.cli('ACL', 'SETUSER', 'weak', 'on', '>weak', '~*', '-@all', '+client', '+hello')
  const trouble = async (login: string): Promise<string> => {
    const urls = [`redis://${login}127.0.0.1:${redis.port}`] as const
    let refuse = (_error: Error): void => {}
    const refused = new Promise<Error>((resolve) => {
      refuse = resolve
    })
    const connection = new RedisConnection({ kind: 'redis', urls }, refuse)
    const records = new SharedRecords({ database: redisDatabase(connection.send) })
    try {
      const looked = connection.connect().then(() => records.poll())
      return await Promise.race([looked.then(() => 'none', redisTrouble), refused.then(redisTrouble)])
    } finally {
      await connection.close()
    }
  }
  expect(await trouble('')).toBe('none')
  expect(await trouble('weak:weak@')).toMatch(/^Redis refuses the login \(NOPERM /)
  await redis.cli('SET', 'sluice:{records}:policies', 'not a hash')
  expect(await trouble('')).toMatch(/^Redis refuses \(WRONGTYPE /)
  await redis.cli('CONFIG', 'SET', 'requirepass', 'right')
  expect(await trouble('')).toMatch(/^Redis refuses the login \(NOAUTH /)
  expect(redisTrouble(new Error('connect ECONNREFUSED 127.0.0.1:1'))).toBe('Redis does not answer')
})
