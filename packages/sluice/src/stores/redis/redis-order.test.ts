// Calls on one key keep their order if Redis or the client refuses some of them.

import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { SINGLE } from '../../../test/redis/clients.ts'
import { freshPrefix, patientLimiter, realRedis } from '../../../test/redis/real-redis.ts'
import { createLimiter, fixedWindow } from '../../index.ts'
import type { RedisClient } from './redis-client.ts'
import { redisStore } from './redis-store.ts'

const server = realRedis()
const hundred = fixedWindow({ limit: 100, window: '1h' })

/** A client like ioredis that is not connected, and counts hits once it is. */
function connectingClient() {
  let used = 0
  const call = async (_verb: string, _program: string, names: string): Promise<string> => {
    // One of the names is that of the note.
    return Array.from({ length: Number(names) - 1 }, () => `${++used},0,60000`).join()
  }
  return { options: {}, status: 'connecting', call }
}

test.each([0, 1, 2, 3, 4, 5])(
  'a call made %i microtasks after one that is refused does not overtake it when the client connects',
  async (microtasks) => {
    const client = connectingClient()
    const limiter = createLimiter({ rules: hundred, store: redisStore(client as RedisClient) })
    const first = limiter.hit('ada')
    for (let i = 0; i < microtasks; i++) await undefined
    const second = limiter.hit('ada')
    client.status = 'ready'
    expect([(await first).remaining, (await second).remaining]).toEqual([99, 98])
  },
)

test.each([1, 2, 3])('nor do calls that are made later, behind one made %i microtasks after it', async (microtasks) => {
  const client = connectingClient()
  const limiter = createLimiter({ rules: hundred, store: redisStore(client as RedisClient) })
  const hits = [limiter.hit('ada')]
  for (let i = 0; i < microtasks; i++) await undefined
  hits.push(limiter.hit('ada'))
  for (let i = 0; i < 6; i++) await undefined
  hits.push(limiter.hit('ada'))
  await new Promise(setImmediate)
  client.status = 'ready'
  expect((await Promise.all(hits)).map(({ remaining }) => remaining)).toEqual([99, 98, 97])
})

test('a program that is still missing does not put its calls behind those of a program that was loaded again', async () => {
  const client = new Redis(server.it.port, '127.0.0.1')
  onTestFinished(() => client.disconnect())
  const limiter = patientLimiter(hundred, redisStore(client, { prefix: freshPrefix(), batch: 1 }))
  await limiter.hit('ada')
  await limiter.inc('ada')
  await server.it.cli('SCRIPT', 'FLUSH')
  await limiter.inc('ada')
  const [hit, used] = await Promise.all([limiter.hit('ada'), limiter.inc('ada')])
  expect([hit.remaining, used]).toEqual([96, 5])
})

// Otherwise the second command might take a faster connection than the first.
test.each(['a pool of node-redis', 'a function'])('calls of one turn after answers are one command through %s', async (name) => {
  const { client, close } = await SINGLE[name](server.it.port)
  onTestFinished(async () => void (await close()))
  const limiter = patientLimiter(hundred, redisStore(client, { prefix: freshPrefix() }))
  await server.it.cli('CONFIG', 'RESETSTAT')
  await Promise.all(
    Array.from({ length: 16 }, async (_, key) => {
      await limiter.hit(`user:${key}`)
      await limiter.hit(`user:${key}`)
    }),
  )
  const commands = await server.it.cli('INFO', 'commandstats')
  expect(commands.match(/cmdstat_eval(sha)?:calls=\d+/g)?.toSorted()).toEqual(['cmdstat_eval:calls=1', 'cmdstat_evalsha:calls=1'])
})
