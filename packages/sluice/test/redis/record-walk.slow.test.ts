// Records with keys in several slots, against the definitions: one atomic step on one server, part by part in a cluster.

import { describe, expect, test } from 'vitest'
import { slotOf } from '../../src/stores/redis/hash-slot.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { fakeClock } from '../../src/testing/index.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { RECORD_RULES, recordWalk } from '../record-walk.ts'
import { CLUSTER, clientFor, SINGLE } from './clients.ts'
import { freshPrefix, realCluster, realRedis } from './real-redis.ts'

test('the keys of the walk lie on three primaries', () => {
  const primaries = ['ada', 'bob', 'acme', 'zeta', '*'].map((key) => Math.floor((slotOf(`{${key}}`) * 3) / 16_384))
  expect(new Set(primaries)).toEqual(new Set([0, 1, 2]))
})

describe('on one server', () => {
  const server = realRedis()
  const connected = clientFor(SINGLE.ioredis, () => server.it.port)
  test.each(Object.entries(RECORD_RULES))('%s', async (_, rules) => {
    const clock = fakeClock()
    const store = redisStore(connected.it.client, { clock, prefix: freshPrefix() })
    const denied = await recordWalk({ store, rules, clock, random: seededRandom(), steps: 1500, stepsBack: true })
    expect(denied).toBeGreaterThan(100)
  })
})

describe('in a cluster', () => {
  const cluster = realCluster()
  for (const [name, connect] of Object.entries(CLUSTER)) {
    const connected = clientFor(connect, () => cluster.it.primaries[0].port)
    const steps = name === 'ioredis' ? 1000 : 150
    test.each(Object.entries(RECORD_RULES))(`${name}: %s`, async (_, rules) => {
      const clock = fakeClock()
      const store = redisStore(connected.it.client, { clock, prefix: freshPrefix() })
      const denied = await recordWalk({ store, rules, clock, random: seededRandom(), steps, stepsBack: false })
      expect(denied).toBeGreaterThan(5)
    })
  }
})
