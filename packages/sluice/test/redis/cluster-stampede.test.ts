// Four processes hit records at once, whose keys lie on three primaries, or on one in different slots. Each rule denies some of
// them.

import { expect, test } from 'vitest'
import type { RuleSpec } from '../../src/algorithms/catalogue.ts'
import { slotOf } from '../../src/stores/redis/hash-slot.ts'
import { type Random, seededRandom } from '../../src/testing/random.ts'
import { clusterProcesses } from './limiter-processes.ts'
import { freshPrefix, realCluster } from './real-redis.ts'

const cluster = realCluster()
const processes = clusterProcesses(() => cluster.it.primaries[0].port, 4)

const HITS_EACH = 300

/** Keys that lie on the primary with the index, among three. */
function keysOn(primary: number, like: string, count: number): readonly string[] {
  const candidates = Array.from({ length: 200 }, (_, i) => `${like} ${i}`)
  return candidates.filter((key) => Math.floor((slotOf(`{${key}}`) * 3) / 16_384) === primary).slice(0, count)
}

interface Keys {
  readonly users: readonly string[]
  readonly orgs: readonly string[]
  readonly routes: readonly string[]
}

const KEYS: Readonly<Record<string, Keys>> = {
  'on three primaries': { users: keysOn(0, 'user', 6), orgs: keysOn(1, 'org', 3), routes: keysOn(2, 'route', 2) },
  'on one primary': { users: keysOn(1, 'user', 6), orgs: keysOn(1, 'org', 3), routes: keysOn(1, 'route', 2) },
}

interface Subject {
  readonly user: string
  readonly org: string
  readonly route: string
}

interface Hit {
  readonly subject: Subject
  readonly cost: Readonly<Record<string, number>>
}

const window = '1h'
// Small enough that rules run out in every run, and each of them in most: the first keys of all three after about thirty hits.
const LIMITS = { user: 30, org: 25, route: 24 }
const RULES: Readonly<Record<string, readonly RuleSpec[]>> = {
  'fixed windows': [
    { algorithm: 'fixed-window', name: 'user', limit: LIMITS.user, window, per: 'user' },
    { algorithm: 'fixed-window', name: 'org', limit: LIMITS.org, window, per: 'org' },
    { algorithm: 'fixed-window', name: 'route', limit: LIMITS.route, window, per: 'route' },
  ],
  'a bucket, a log and a sliding window': [
    { algorithm: 'token-bucket', name: 'user', capacity: LIMITS.user, refill: 1, every: window, per: 'user' },
    { algorithm: 'sliding-log', name: 'org', limit: LIMITS.org, window, per: 'org' },
    { algorithm: 'sliding-window', name: 'route', limit: LIMITS.route, window, per: 'route' },
  ],
}

const NAMES = ['user', 'org', 'route'] as const

/** The first key more often than all others together, so that it runs out while they have units left. */
function firstOrOther(keys: readonly string[], random: Random): string {
  return random.whole(0, 2) > 0 ? keys[0] : random.pick(keys)
}

function randomHit({ users, orgs, routes }: Keys, random: Random): Hit {
  const subject = { user: firstOrOther(users, random), org: firstOrOther(orgs, random), route: firstOrOther(routes, random) }
  return { subject, cost: { user: random.whole(1, 2), org: 1, route: 1 } }
}

const CASES = Object.entries(KEYS).flatMap(([where, keys]) =>
  Object.entries(RULES).map(([what, rules]) => ({ where, what, keys, rules })),
)

/** Rules that have denied a hit in one of the cases. */
const deniedBy = new Set<string>()

test.each(CASES)('$what, $where: no limit is exceeded, and what is used is what was allowed', async ({ keys, rules }) => {
  const prefix = freshPrefix()
  const task = { rules, prefix, batch: 8 }
  const random = seededRandom()
  const hits = Array.from({ length: HITS_EACH }, () => randomHit(keys, random))
  const calls = hits.map(({ subject, cost }) => ['hit', subject, { cost }] as const)
  const replies = await Promise.all(processes.it.map((each) => each.ask({ ...task, calls })))

  const spent = new Map<string, number>()
  for (const { answers } of replies) {
    answers.forEach(({ allowed, rules: statuses }, i) => {
      const { subject, cost } = hits[i]
      expect(statuses.map(({ name }) => name)).toEqual(NAMES)
      for (const name of NAMES) {
        const counter = `${name} ${subject[name]}`
        if (allowed) spent.set(counter, (spent.get(counter) ?? 0) + cost[name])
      }
      for (const { name, retryAfterMs } of statuses) if (!allowed && retryAfterMs > 0) deniedBy.add(name)
    })
  }
  const isDenied = replies.some(({ answers }) => answers.some(({ allowed }) => !allowed))
  expect(isDenied, `SEED=${random.seed}`).toBe(true)

  const { users, orgs, routes } = keys
  const subjects = users.flatMap((user) => orgs.flatMap((org) => routes.map((route) => ({ user, org, route }))))
  const reads = subjects.flatMap((subject) => NAMES.map((rule) => ({ subject, rule })))
  const used = await processes.it[0].ask({
    ...task,
    calls: reads.map(({ subject, rule }) => ['get', subject, { rule }] as const),
  })
  reads.forEach(({ subject, rule }, i) => {
    const counter = `${rule} ${subject[rule]}`
    expect(used.answers[i], counter).toBe(spent.get(counter) ?? 0)
    expect(used.answers[i], counter).toBeLessThanOrEqual(LIMITS[rule])
  })
})

test('each rule has denied hits in one of the cases', () => {
  expect([...deniedBy].sort()).toEqual([...NAMES].sort())
})
