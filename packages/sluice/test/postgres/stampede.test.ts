// Four processes hit the same keys at once: exactly the limit passes, and no two transactions wait for each other.

import { afterAll, describe, expect, test } from 'vitest'
import { roundsOf } from '../../../../test/rounds.ts'
import { startPgbouncer } from '../../../../test/servers/pgbouncer-server.mjs'
import type { RuleSpec } from '../../src/algorithms/catalogue.ts'
import { beforeTests, type Later } from '../redis/real-redis.ts'
import { type LimiterProcess, limiterProcesses, type Task } from './limiter-processes.ts'
import { freshTable, realPostgres } from './real-postgres.ts'

const HOUR_MS = 3_600_000
const server = realPostgres()
const pgbouncer = beforeTests(
  () => startPgbouncer(server.it.port),
  (started) => started.stop(),
)

afterAll(async () => {
  const [{ deadlocks }] = await server.it.query("SELECT deadlocks::int FROM pg_stat_database WHERE datname = 'postgres'")
  expect(deadlocks).toBe(0)
})

const directly = limiterProcesses(() => server.it.url, [0, 0, 0, 0])
const throughPgbouncer = limiterProcesses(() => pgbouncer.it.url, [0, 0, 0, 0])

type Modes = readonly Task['mode'][]

/** The processes, and the mode of each. */
const WAYS: Readonly<Record<string, readonly [Later<readonly LimiterProcess[]>, Modes]>> = {
  'transactions, directly': [directly, Array(4).fill('transaction')],
  'transactions, through PgBouncer in transaction mode': [throughPgbouncer, Array(4).fill('transaction')],
  'functions, directly': [directly, Array(4).fill('function')],
  'functions, through PgBouncer in transaction mode': [throughPgbouncer, Array(4).fill('function')],
  'functions and transactions on one table': [directly, ['function', 'transaction', 'auto', 'transaction']],
}

const RULES: Readonly<Record<string, RuleSpec>> = {
  'fixed window': { algorithm: 'fixed-window', limit: 400, window: HOUR_MS },
  'sliding log': { algorithm: 'sliding-log', limit: 400, window: HOUR_MS },
  gcra: { algorithm: 'gcra', limit: 1, period: HOUR_MS, burst: 400 },
}

type Calls = readonly (readonly [string, ...unknown[]])[]

async function stampede(
  [processes, modes]: readonly [Later<readonly LimiterProcess[]>, Modes],
  rules: readonly RuleSpec[],
  table: string,
  callsOf: (i: number) => Calls,
) {
  const replies = await Promise.all(processes.it.map((each, i) => each.ask({ rules, table, mode: modes[i], calls: callsOf(i) })))
  return replies.map(({ answers }) => answers)
}

describe.each(Object.entries(WAYS))('%s', (_, way) => {
  const [processes, [mode]] = way
  test.each(Object.entries(RULES))('of 800 hits on a new key, 400 pass: %s', async (_name, rule) => {
    const decisions = (await stampede(way, [rule], freshTable(), () => Array(200).fill(['hit', 'ada']))).flat()
    expect(decisions).toHaveLength(800)
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(400)
  })

  test('over overlapping sets of keys, in every order, with resets and peeks between them', async () => {
    const table = freshTable()
    const perName = (per: string, limit: number): RuleSpec =>
      ({ algorithm: 'fixed-window', limit, window: HOUR_MS, per, name: per }) as RuleSpec
    const rules = [perName('zebra', 150), perName('apple', 150), perName('mango', 150)]
    const spent = new Map<string, number>()
    for (let round = 0; round < roundsOf({ usual: 3, long: 30 }); round++) {
      const callsOf = (i: number): Calls =>
        Array.from({ length: 150 }, (_, n) => {
          const key = (offset: number) => `k${(n * 7 + i * 3 + offset * 5 + round) % 6}`
          const subject = { zebra: key(0), apple: key(1), mango: key(2) }
          if (n % 25 === 24) return ['reset', { zebra: 'gone', apple: `gone ${n % 4}`, mango: 'gone' }]
          return [n % 10 === 9 ? 'peek' : 'hit', subject]
        })
      const answers = await stampede(way, rules, table, callsOf)
      for (const [i, ofProcess] of answers.entries()) {
        for (const [n, [method, subject]] of callsOf(i).entries()) {
          if (method !== 'hit' || !ofProcess[n].allowed) continue
          for (const [per, key] of Object.entries(subject as object)) {
            spent.set(`${per} ${key}`, (spent.get(`${per} ${key}`) ?? 0) + 1)
          }
        }
      }
    }
    // Every unit that was granted is counted, none twice, and no limit is passed.
    for (const [name, units] of spent) {
      const [per, key] = name.split(' ')
      const subject = { zebra: 'x', apple: 'x', mango: 'x', [per]: key }
      const [used] = (await processes.it[0].ask({ rules, table, mode, calls: [['get', subject, { rule: per }]] })).answers
      expect(used, name).toBe(units)
      expect(units).toBeLessThanOrEqual(150)
    }
    expect(Math.max(...spent.values())).toBe(150)
    const [{ empty }] = await server.it.query(`SELECT count(*)::int AS empty FROM ${table} WHERE cardinality(value) = 0`)
    expect(empty).toBe(0)
  })
})

const TOGETHER = ['transactions, directly', 'functions, directly', 'functions and transactions on one table']

test.each(TOGETHER)(
  'keys that appear and vanish under the feet of others, nothing deadlocks, and nothing is refused: %s',
  async (way) => {
    const table = freshTable()
    const rule: RuleSpec = { algorithm: 'fixed-window', limit: 1e6, window: HOUR_MS }
    const callsOf = (i: number): Calls =>
      Array.from({ length: roundsOf({ usual: 400, long: 5000 }) }, (_, n) =>
        (n + i) % 3 === 0 ? ['reset', `k${(n * 5) % 7}`] : ['hit', `k${(n * 3 + i) % 7}`],
      )
    const answers = await stampede(WAYS[way], [rule], table, callsOf)
    expect(answers.flat().filter((answer) => answer?.allowed === false)).toEqual([])
  },
)
