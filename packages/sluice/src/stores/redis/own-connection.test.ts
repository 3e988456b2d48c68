// A connection of the store's own, beside the application's client.

import { createClient } from '@redis/client'
import { Cluster, Redis } from 'ioredis'
import * as iovalkey from 'iovalkey'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../../../../test/servers/redis-server.mjs'
import { freshPrefix, patientLimiter, realRedis } from '../../../test/redis/real-redis.ts'
import { fixedWindow, type SluiceError } from '../../index.ts'
import type { RedisClient } from './redis-client.ts'
import { redisStore } from './redis-store.ts'

const host = '127.0.0.1'
const server = realRedis()
const five = fixedWindow({ limit: 5, window: '1m' })

const connections = async () =>
  (await server.it.cli('CLIENT', 'LIST')).split('\n').filter((line) => line.includes('own-test')).length

test.each([
  ['ioredis', () => new Redis(server.it.port, host, { connectionName: 'own-test', keyPrefix: 'app:' })],
  ['iovalkey', () => new iovalkey.Redis(server.it.port, host, { connectionName: 'own-test', keyPrefix: 'app:' })],
])('%s: is opened by the store, needs no note, and is closed with the store', async (_, connect) => {
  const client = connect()
  onTestFinished(() => client.disconnect())
  const prefix = freshPrefix()
  const store = redisStore(client, { prefix, ownConnection: true })
  const limiter = patientLimiter(five, store)
  expect((await Promise.all([limiter.hit('ada'), limiter.hit('ada')])).map(({ remaining }) => remaining)).toEqual([4, 3])
  expect(await patientLimiter(five, redisStore(client, { prefix })).get('ada')).toBe(2)
  expect(await store.size).toBe(1)
  expect(await server.it.cli('KEYS', `app:${prefix}:*`)).toContain('{ada}')
  await until('both connections', async () => (await connections()) === 2)
  const last = limiter.hit('ada')
  await new Promise(setImmediate)
  await store.close()
  expect((await last).remaining).toBe(2)
  await until('the connection of the store to be closed', async () => (await connections()) === 1)
  expect(client.status).toBe('ready')
  const late = () => store.tally([five]).ask({ operation: 'hit', charges: [{ rule: 0, key: 'ada', amount: 1 }] })
  // The client notices the end of a connection a moment after the server.
  await until('calls to be refused', async () => {
    const code = await late().then(
      () => 'answered',
      (error: SluiceError) => error.code,
    )
    expect(code).toMatch(/^ERR_STORE_(UNKNOWN|REFUSED)$/)
    return code === 'ERR_STORE_REFUSED'
  })
})

test.each<[string, RedisClient]>([
  ['node-redis', createClient()],
  ['a cluster', new Cluster([{ host, port: 1 }], { lazyConnect: true })],
  ['a function', async () => null],
])('%s: is refused', (_, client) => {
  expect(() => redisStore(client, { ownConnection: true })).toThrow(
    expect.objectContaining({ code: 'ERR_OPTION', option: 'ownConnection' }),
  )
})

test('is a matter of true or false', () => {
  const client = new Redis({ lazyConnect: true })
  for (const wrong of ['yes', 1, null]) {
    expect(() => redisStore(client, { ownConnection: wrong as unknown as boolean })).toThrow(
      expect.objectContaining({ code: 'ERR_OPTION', option: 'ownConnection' }),
    )
  }
})
