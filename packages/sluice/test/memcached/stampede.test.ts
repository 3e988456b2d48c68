// Four processes hit the same key at once: exactly the limit passes. Nothing but versions keeps them apart.

import { describe, expect, test } from 'vitest'
import type { RuleSpec } from '../../src/algorithms/catalogue.ts'
import { fixedWindow, type Limiter } from '../../src/index.ts'
import { freshPrefix, patientLimiter } from '../redis/real-redis.ts'
import { askAll, limiterProcesses } from './limiter-processes.ts'
import { realMemcachedServers, storeOn } from './real-memcached.ts'

const servers = realMemcachedServers(3)
const addresses = () => servers.it.map(({ address }) => address)
const processes = limiterProcesses(addresses, [0, 0, 0, 0])

const HOUR_MS = 3_600_000
const LIMIT = 1000
const HITS_EACH = 500

/** Every kind of state. Nothing comes back while the test runs. */
const rules: Readonly<Record<string, RuleSpec>> = {
  'fixed window': { algorithm: 'fixed-window', limit: LIMIT, window: HOUR_MS },
  'fixed window that counts denied hits': { algorithm: 'fixed-window', limit: LIMIT, window: HOUR_MS, countDenied: true },
  'sliding log': { algorithm: 'sliding-log', limit: LIMIT, window: HOUR_MS },
  'sliding window': { algorithm: 'sliding-window', limit: LIMIT, window: HOUR_MS },
  'token bucket': { algorithm: 'token-bucket', capacity: LIMIT, refill: 1, every: HOUR_MS },
  gcra: { algorithm: 'gcra', limit: 1, period: HOUR_MS, burst: LIMIT },
}

describe(`of ${4 * HITS_EACH} hits from four processes at once, exactly ${LIMIT} pass`, () => {
  test.each(Object.entries(rules))('%s', async (_, rule) => {
    const outcomes = await askAll(processes.it, { rules: [rule], prefix: freshPrefix(), hits: HITS_EACH, underWay: 32 })
    expect(outcomes).toEqual({ allowed: LIMIT, denied: 4 * HITS_EACH - LIMIT })
  })
})

test('keys on several servers: no limit is exceeded, and denied hits leave nothing charged', async () => {
  const perUser: RuleSpec = { algorithm: 'fixed-window', limit: 300, window: HOUR_MS, name: 'user', per: 'user' }
  const perOrg: RuleSpec = { algorithm: 'fixed-window', limit: 400, window: HOUR_MS, name: 'org', per: 'org' }
  const users = ['ada', 'bob', 'eve', 'joe']
  const prefix = freshPrefix()
  const subjects = users.map((user) => ({ user, org: 'acme' }))
  const outcomes = await askAll(processes.it, { rules: [perUser, perOrg], prefix, hits: 200, underWay: 16, subjects })
  expect(outcomes).toEqual({ allowed: 400, denied: 400 })
  const store = storeOn(servers.it, { prefix })
  const limiter = patientLimiter(
    [
      fixedWindow({ limit: 300, window: HOUR_MS, name: 'user', per: 'user' }),
      fixedWindow({ limit: 400, window: HOUR_MS, name: 'org', per: 'org' }),
    ],
    store,
  ) as unknown as Limiter<'async', { user: string; org: string }>
  const used = await Promise.all(users.map((user) => limiter.get({ user, org: 'acme' }, { rule: 'user' })))
  expect(await limiter.get({ user: 'ada', org: 'acme' }, { rule: 'org' })).toBe(400)
  expect(used.reduce((sum, each) => sum + each, 0)).toBe(400)
  await store.close()
})

test('128 hits under way on one key from four processes are all answered, although they compete', async () => {
  const rule: RuleSpec = { algorithm: 'fixed-window', limit: 1e9, window: HOUR_MS }
  const task = { rules: [rule], prefix: freshPrefix(), hits: 1000, underWay: 32, timeoutMs: 5000 }
  expect(await askAll(processes.it, task)).toEqual({ allowed: 4000 })
})
