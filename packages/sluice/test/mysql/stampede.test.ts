// Several processes hit the same keys at once: exactly the limit passes, and no call fails.

import { describe, expect, test } from 'vitest'
import { roundsOf } from '../../../../test/rounds.ts'
import type { RuleSpec } from '../../src/algorithms/catalogue.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { limiterProcesses, type Task } from './limiter-processes.ts'
import { freshTable, realMariadb } from './real-mariadb.ts'

const server = realMariadb()
const processes = limiterProcesses(() => server.it.address, [0, 0, 0])

const HOUR_MS = 3_600_000

/** Rules with a limit of 300, of which nothing comes back while the test runs. */
const rules: Readonly<Record<string, RuleSpec>> = {
  'fixed window': { algorithm: 'fixed-window', limit: 300, window: HOUR_MS },
  'sliding log': { algorithm: 'sliding-log', limit: 300, window: HOUR_MS },
  'sliding window': { algorithm: 'sliding-window', limit: 300, window: HOUR_MS },
  'token bucket': { algorithm: 'token-bucket', capacity: 300, refill: 1, every: HOUR_MS },
}

async function stampede(tasks: readonly Task[]) {
  const replies = await Promise.all(processes.it.map((each, i) => each.ask(tasks[i % tasks.length])))
  return replies.map(({ answers }) => answers)
}

describe('of 600 hits from three processes, exactly 300 pass', () => {
  test.each(Object.entries(rules))('%s', async (_, rule) => {
    const turns = Array(4).fill(Array(50).fill(['hit', 'ada']))
    const decisions = (await stampede([{ rules: [rule], table: freshTable(), turns }])).flat()
    expect(decisions).toHaveLength(600)
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(300)
  })
})

test('overlapping keys in any order: each key lets exactly its limit through, and no key of a denied hit is charged', async () => {
  const random = seededRandom()
  const before = await server.it.deadlocks()
  const keys = Array.from({ length: 12 }, (_, i) => `k${i}`)
  const LIMIT = 20
  const perKeys: readonly RuleSpec[] = [
    { algorithm: 'fixed-window', limit: LIMIT, window: HOUR_MS, name: 'user', per: ['user'] },
    { algorithm: 'sliding-log', limit: LIMIT, window: HOUR_MS, name: 'org', per: ['org'] },
  ]
  for (let round = 0; round < roundsOf({ usual: 6, long: 60 }); round++) {
    const table = freshTable()
    const tasks = processes.it.map(() => {
      const turns = Array.from({ length: 8 }, () =>
        Array.from({ length: random.whole(1, 20) }, () => ['hit', { user: random.pick(keys), org: random.pick(keys) }] as const),
      )
      return { rules: perKeys, table, turns }
    })
    const answers = await stampede(tasks)
    const charged = new Map<string, number>()
    for (const [process, decisions] of answers.entries()) {
      for (const [i, [, subject]] of tasks[process].turns.flat().entries()) {
        if (!decisions[i].allowed) continue
        for (const [name, key] of Object.entries(subject)) charged.set(`${name} ${key}`, (charged.get(`${name} ${key}`) ?? 0) + 1)
      }
    }
    const ask = (call: readonly [string, ...unknown[]]) => processes.it[0].ask({ rules: perKeys, table, turns: [[call]] })
    for (const key of keys) {
      for (const name of ['user', 'org']) {
        const { answers } = await ask(['get', { user: key, org: key }, { rule: name }])
        expect(answers[0], `${name} ${key}, SEED=${random.seed}`).toBe(charged.get(`${name} ${key}`) ?? 0)
        expect(answers[0]).toBeLessThanOrEqual(LIMIT)
      }
    }
  }
  // While rows are made there may be a few deadlocks. They are run again, and nobody notices.
  expect((await server.it.deadlocks()) - before).toBeLessThan(roundsOf({ usual: 60, long: 600 }))
})

test('rows that exist never deadlock, in any order of the calls', async () => {
  const random = seededRandom()
  const keys = Array.from({ length: 10 }, (_, i) => `k${i}`)
  const rules: readonly RuleSpec[] = ['a', 'b', 'c'].map((name) => ({
    ...{ algorithm: 'fixed-window', limit: 1e6, window: HOUR_MS },
    ...{ name, per: [name] },
  }))
  const table = freshTable()
  const hit = () => ['hit', { a: random.pick(keys), b: random.pick(keys), c: random.pick(keys) }] as const
  await processes.it[0].ask({ rules, table, turns: [keys.map((key) => ['hit', { a: key, b: key, c: key }])] })
  const before = await server.it.deadlocks()
  const turns = () =>
    Array.from({ length: roundsOf({ usual: 60, long: 1000 }) }, () => Array.from({ length: random.whole(1, 9) }, hit))
  const tasks = processes.it.map(() => ({ rules, table, turns: turns() }))
  const decisions = (await stampede(tasks)).flat()
  expect(decisions.every(({ allowed }) => allowed)).toBe(true)
  expect((await server.it.deadlocks()) - before, `SEED=${random.seed}`).toBe(0)
  const call = keys.map((key) => ['get', { a: key, b: key, c: key }, { rule: 'a' }] as const)
  const { answers } = await processes.it[0].ask({ rules, table, turns: [call] })
  expect(answers.reduce((sum, count) => sum + count, 0)).toBe(keys.length + decisions.length)
})

test('keys that appear and disappear all the time: every call is answered', async () => {
  const random = seededRandom()
  const before = await server.it.deadlocks()
  const rule: RuleSpec = { algorithm: 'fixed-window', limit: 3, window: HOUR_MS }
  const keys = Array.from({ length: 4 }, (_, i) => `k${i}`)
  const turns = () =>
    Array.from({ length: 60 }, () =>
      Array.from({ length: 6 }, () => [random.pick(['hit', 'hit', 'peek', 'reset', 'refund']), random.pick(keys)] as const),
    )
  const table = freshTable()
  const answers = await stampede(processes.it.map(() => ({ rules: [rule], table, turns: turns() })))
  expect(answers.flat()).toHaveLength(3 * 360)
  expect((await server.it.deadlocks()) - before, `SEED=${random.seed}`).toBeLessThan(500)
})
