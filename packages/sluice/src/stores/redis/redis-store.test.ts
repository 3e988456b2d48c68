// The suite for stores on a real Redis, through every client. Walks through one client have a thousand steps, through the others fewer.

import { describe } from 'vitest'
import { roundsOf } from '../../../../../test/rounds.ts'
import { CLUSTER, clientFor, SENTINEL, SINGLE } from '../../../test/redis/clients.ts'
import { freshPrefix, realCluster, realRedis, realSentinel } from '../../../test/redis/real-redis.ts'
import { storeSuite } from '../../testing/index.ts'
import { redisStore } from './redis-store.ts'

describe('one server', () => {
  const server = realRedis()
  for (const [name, connect] of Object.entries(SINGLE)) {
    const connected = clientFor(connect, () => server.it.port)
    const steps = name === 'ioredis' ? roundsOf({ usual: 1000, long: 5000 }) : 100
    storeSuite(name, (clock) => redisStore(connected.it.client, { clock, prefix: freshPrefix() }), { steps })
  }
})

describe('a cluster of three primaries and their replicas', () => {
  const cluster = realCluster()
  for (const [name, connect] of Object.entries(CLUSTER)) {
    const connected = clientFor(connect, () => cluster.it.primaries[0].port)
    storeSuite(name, (clock) => redisStore(connected.it.client, { clock, prefix: freshPrefix() }), {
      steps: name === 'ioredis' ? roundsOf({ usual: 100, long: 3000 }) : 100,
      decidesInParts: true,
    })
  }
})

describe('a primary that a Sentinel names', () => {
  const watched = realSentinel()
  for (const [name, connect] of Object.entries(SENTINEL)) {
    const connected = clientFor(connect, () => watched.it.sentinel.port)
    storeSuite(name, (clock) => redisStore(connected.it.client, { clock, prefix: freshPrefix() }), { steps: 100 })
  }
})
