// The suite for stores on real servers: one and three of them. Walks on one server have more steps.

import { describe, expect, test } from 'vitest'
import { roundsOf } from '../../../../../test/rounds.ts'
import { realMemcached, realMemcachedServers, storeOn } from '../../../test/memcached/real-memcached.ts'
import { RECORD_RULES, recordWalk } from '../../../test/record-walk.ts'
import { fakeClock, storeSuite } from '../../testing/index.ts'
import { seededRandom } from '../../testing/random.ts'

describe('one server', () => {
  const server = realMemcached()
  storeSuite('memcached', (clock) => storeOn([server.it], { clock }), { steps: roundsOf({ usual: 400, long: 5000 }) })

  test.each(Object.entries(RECORD_RULES))('keys of several records: %s', async (_, rules) => {
    const clock = fakeClock()
    const store = storeOn([server.it], { clock })
    const denied = await recordWalk({ store, rules, clock, random: seededRandom(), steps: 400, stepsBack: true })
    expect(denied).toBeGreaterThan(20)
    await store.close()
  })
})

describe('three servers', () => {
  const servers = realMemcachedServers(3)
  storeSuite('memcached', (clock) => storeOn(servers.it, { clock }), { steps: 100 })

  test.each(Object.entries(RECORD_RULES))('keys on several servers: %s', async (_, rules) => {
    const clock = fakeClock()
    const store = storeOn(servers.it, { clock })
    const denied = await recordWalk({ store, rules, clock, random: seededRandom(), steps: 400, stepsBack: true })
    expect(denied).toBeGreaterThan(20)
    await store.close()
  })

  test('all of them keep items', async () => {
    // The walks above choose keys at random, so one server may get few of them.
    for (const server of servers.it) expect(Number((await server.stats()).cmd_set)).toBeGreaterThan(10)
  })
})
