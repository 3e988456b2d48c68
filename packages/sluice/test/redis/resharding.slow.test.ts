// Slots move between the nodes of a real cluster while hits run. No hit is lost, none is counted twice, and every call settles in
// time.

import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../../../test/servers/redis-server.mjs'
import { KEYS_AT_ONCE, Resharding } from '../../../../test/servers/resharding.mjs'
import { createLimiter, fixedWindow, type SluiceError, slidingLog, tokenBucket } from '../../src/index.ts'
import { slotOf } from '../../src/stores/redis/hash-slot.ts'
import type { RedisClient } from '../../src/stores/redis/redis-client.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { CLUSTER } from './clients.ts'
import { beforeTests, freshPrefix, realCluster } from './real-redis.ts'

const cluster = realCluster()
const resharding = beforeTests(
  async () => {
    // A busy machine would look like a failure to the replicas.
    for (const replica of cluster.it.replicas) await replica.cli('CONFIG', 'SET', 'cluster-replica-no-failover', 'yes')
    return Resharding.of(cluster.it.primaries)
  },
  (it) => it.close(),
)

const CLIENTS = ['ioredis', 'node-redis'] as const

async function connect(name: (typeof CLIENTS)[number]): Promise<RedisClient> {
  const { client, close } = await CLUSTER[name](cluster.it.primaries[0].port)
  onTestFinished(async () => void (await close()))
  return client
}

const LIMIT = 150
const TIMEOUT_MS = 5000
const USERS = Array.from({ length: 12 }, (_, i) => `user ${i}`)
const ORGS = ['acme', 'zeta', 'omni', 'vega']
const slots = (keys: readonly string[]) => [...new Set(keys.map((key) => slotOf(`{${key}}`)))]

/** Rules that share a slot for each key. Only the first is ever used up. */
const BY_KEY = [
  fixedWindow({ limit: LIMIT, window: '1h', name: 'least' }),
  tokenBucket({ capacity: 10 * LIMIT, refill: 1, every: '10h', name: 'bucket' }),
  slidingLog({ limit: 10 * LIMIT, window: '1h', name: 'log' }),
]
const BY_RECORD = [
  fixedWindow({ limit: LIMIT, window: '1h', name: 'user', per: 'user' }),
  fixedWindow({ limit: 2 * LIMIT, window: '1h', name: 'org', per: 'org' }),
]

const FAILURE = { timeoutMs: TIMEOUT_MS, failures: 1000 }
const storeOn = (client: RedisClient) => redisStore(client, { prefix: freshPrefix() })
const limiterByKey = (client: RedisClient) => createLimiter({ rules: BY_KEY, store: storeOn(client), failure: FAILURE })
const limiterByRecord = (client: RedisClient) => createLimiter({ rules: BY_RECORD, store: storeOn(client), failure: FAILURE })

/** Users whose keys share a slot, the given one first. */
function usersInSlotOf(user: string, count: number): readonly string[] {
  const slot = slotOf(`{${user}}`)
  const found = [user]
  for (let i = 0; found.length < count; i++) if (slotOf(`{like ${i}}`) === slot) found.push(`like ${i}`)
  return found
}

interface Load {
  /** Stops new hits, and resolves when all are answered. */
  stop(): Promise<{ allowed: Map<string, number>; slowestMs: number; errors: readonly unknown[] }>
}

/** Hits random subjects from several callers, without a pause, until it is stopped. `keysOf` names the counters of a subject. */
function load<S>(
  hit: (subject: S) => Promise<{ allowed: boolean }>,
  subjects: readonly S[],
  keysOf: (subject: S) => string[],
): Load {
  const random = seededRandom()
  const allowed = new Map<string, number>()
  const errors: unknown[] = []
  let slowestMs = 0
  let isOver = false
  const caller = async () => {
    while (!isOver) {
      const subject = random.pick(subjects)
      const startMs = performance.now()
      try {
        const decision = await hit(subject)
        if (decision.allowed) for (const key of keysOf(subject)) allowed.set(key, (allowed.get(key) ?? 0) + 1)
      } catch (error) {
        errors.push(error)
      }
      slowestMs = Math.max(slowestMs, performance.now() - startMs)
      // The rest of the process gets a turn.
      if (random.whole(0, 3) === 0) await pause(1)
    }
  }
  const callers = Array.from({ length: 16 }, caller)
  return {
    async stop() {
      isOver = true
      await Promise.all(callers)
      return { allowed, slowestMs, errors }
    },
  }
}

/** Moves slots to the next primary and back, again and again, for a while. */
async function moveToAndFro(moved: readonly number[], forMs: number): Promise<void> {
  const endMs = performance.now() + forMs
  const { primaries } = cluster.it
  for (let round = 1; performance.now() < endMs; round++) {
    for (const slot of moved) {
      const home = Math.floor((slot * 3) / 16_384)
      await resharding.it.move(slot, primaries[(home + (round % 2)) % 3], () => pause(2))
    }
  }
}

/** Brings slots back to the primaries that had them first. */
async function moveHome(moved: readonly number[]): Promise<void> {
  for (const slot of moved) await resharding.it.move(slot, cluster.it.primaries[Math.floor((slot * 3) / 16_384)])
}

describe.each(CLIENTS)('%s', (name) => {
  test('slots that move to and fro: of each key exactly the limit passes', async () => {
    const client = await connect(name)
    const limiter = limiterByKey(client)
    const running = load(
      (user) => limiter.hit(user),
      USERS,
      (user) => [user],
    )
    await moveToAndFro(slots(USERS), 2500)
    const { allowed, slowestMs, errors } = await running.stop()
    expect(errors).toEqual([])
    expect(slowestMs).toBeLessThan(TIMEOUT_MS + 500)
    await moveHome(slots(USERS))
    for (const user of USERS) {
      expect(await limiter.get(user, { rule: 'least' }), user).toBe(allowed.get(user) ?? 0)
      // A hit that is counted twice on one rule only would be seen here.
      expect(await limiter.get(user, { rule: 'log' }), user).toBe(allowed.get(user) ?? 0)
      while ((await limiter.hit(user)).allowed) allowed.set(user, (allowed.get(user) ?? 0) + 1)
    }
    expect(Object.fromEntries(allowed)).toEqual(Object.fromEntries(USERS.map((user) => [user, LIMIT])))
  })

  test('records whose keys move between nodes: no limit is exceeded, and what is used is what was allowed', async () => {
    const client = await connect(name)
    const limiter = limiterByRecord(client)
    const subjects = USERS.flatMap((user) => ORGS.map((org) => ({ user, org })))
    const running = load(
      (subject) => limiter.hit(subject),
      subjects,
      ({ user, org }) => [user, org],
    )
    const moved = slots([...USERS.slice(0, 4), ...ORGS])
    await moveToAndFro(moved, 2500)
    const { allowed, slowestMs, errors } = await running.stop()
    expect(errors).toEqual([])
    expect(slowestMs).toBeLessThan(TIMEOUT_MS + 500)
    await moveHome(moved)
    for (const { user, org } of subjects) {
      const used = [await limiter.get({ user, org }, { rule: 'user' }), await limiter.get({ user, org }, { rule: 'org' })]
      expect(used, `${user} of ${org}`).toEqual([allowed.get(user) ?? 0, allowed.get(org) ?? 0])
      expect(used[0]).toBeLessThanOrEqual(LIMIT)
      expect(used[1]).toBeLessThanOrEqual(2 * LIMIT)
    }
  })

  test('a node joins, takes slots, gives them back and leaves, under load', async () => {
    const client = await connect(name)
    const limiter = limiterByKey(client)
    const running = load(
      (user) => limiter.hit(user),
      USERS,
      (user) => [user],
    )
    const guest = await resharding.it.join()
    for (const slot of slots(USERS)) await resharding.it.move(slot, guest, () => pause(1))
    await pause(200)
    await moveHome(slots(USERS))
    await resharding.it.leave(guest)
    await pause(200)
    const { allowed, slowestMs, errors } = await running.stop()
    expect(slowestMs).toBeLessThan(TIMEOUT_MS + 500)
    // A client that drops the connection to a node without slots loses answers.
    expect(errors.filter((error) => (error as SluiceError).code !== 'ERR_STORE_UNKNOWN')).toEqual([])
    let lost = 0
    for (const user of USERS) {
      const used = await readAgain(() => limiter.get(user, { rule: 'least' }))
      expect(used, user).toBeGreaterThanOrEqual(allowed.get(user) ?? 0)
      expect(used, user).toBeLessThanOrEqual(LIMIT)
      lost += used - (allowed.get(user) ?? 0)
    }
    expect(lost).toBeLessThanOrEqual(errors.length)
  })

  test('a slot between two nodes is served: keys that have moved, keys that have not, and new ones', async () => {
    const client = await connect(name)
    const store = storeOn(client)
    const failure = { timeoutMs: 5000, failures: 1000 }
    const limiter = createLimiter({ rules: BY_KEY[0], store, failure })
    const users = usersInSlotOf(USERS[0], 2 * KEYS_AT_ONCE + 2)
    const [slot] = slots(users)
    const olds = users.slice(0, -2)
    const [home, next] = [0, 1].map((i) => cluster.it.primaries[(Math.floor((slot * 3) / 16_384) + i) % 3])
    // The client is connected to both nodes.
    await Promise.all([...USERS.slice(1), ...olds].map((user) => limiter.hit(user)))
    let hits = 1
    const hitAll = async () => {
      const decisions = await Promise.all(olds.map((user) => limiter.hit(user)))
      hits += 1
      expect(decisions.map(({ remaining }) => remaining)).toEqual(olds.map(() => LIMIT - hits))
    }
    let newUser = 0
    await resharding.it.move(slot, next, async () => {
      await hitAll()
      if (newUser < 2) expect((await limiter.hit(users.at(-1 - newUser++) as string)).remaining).toBe(LIMIT - 1)
    })
    expect(hits).toBeGreaterThan(3)
    await hitAll()
    await resharding.it.move(slot, home, hitAll)
    await hitAll()
  })

  test('a client with an old map is right from its first hit on, and learns', async () => {
    const client = await connect(name)
    const limiter = limiterByKey(client)
    await Promise.all(USERS.map((user) => limiter.hit(user)))
    const [, second] = cluster.it.primaries
    for (const slot of slots(USERS)) await resharding.it.move(slot, second)
    onTestFinished(() => moveHome(slots(USERS)))
    const hits = await Promise.all(USERS.flatMap((user) => [limiter.hit(user), limiter.hit(user)]))
    expect(hits.map(({ remaining }) => remaining)).toEqual(USERS.flatMap(() => [LIMIT - 2, LIMIT - 3]))
    // The slots are asked by themselves for a second.
    await until('the client to send one command', async () => {
      await second.cli('CONFIG', 'RESETSTAT')
      await Promise.all(USERS.map((user) => limiter.peek(user)))
      return (await second.cli('INFO', 'commandstats')).includes('cmdstat_evalsha:calls=1,')
    })
  })
})

/** Reads once more if the client has dropped its connections meanwhile, as node-redis does when it learns of other nodes. */
async function readAgain<V>(read: () => Promise<V>): Promise<V> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await read()
    } catch (error) {
      if (attempt === 5 || (error as SluiceError).code !== 'ERR_STORE_UNKNOWN') throw error
      await pause(100)
    }
  }
}
