// Four processes hit the same keys of one file at once: exactly the limit passes.

import { describe, expect, test } from 'vitest'
import type { RuleSpec } from '../../src/algorithms/catalogue.ts'
import { makeRule } from '../../src/algorithms/catalogue.ts'
import { createLimiter } from '../../src/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts'
import { freshTable, onlyValue, sqliteFiles } from './files.ts'
import { LimiterProcesses } from './limiter-processes.ts'

const PROCESSES = 4
const HITS_EACH = 300
const LIMIT = 500
const HOUR_MS = 3_600_000

const files = sqliteFiles()
const processes = new LimiterProcesses(PROCESSES)

/** Every rule with the same limit, of which nothing comes back while the test runs. */
const rules: Readonly<Record<string, RuleSpec>> = {
  'fixed window': { algorithm: 'fixed-window', limit: LIMIT, window: HOUR_MS },
  'fixed window that counts denied hits': { algorithm: 'fixed-window', limit: LIMIT, window: HOUR_MS, countDenied: true },
  'sliding log': { algorithm: 'sliding-log', limit: LIMIT, window: HOUR_MS },
  'sliding window': { algorithm: 'sliding-window', limit: LIMIT, window: HOUR_MS },
  'token bucket': { algorithm: 'token-bucket', capacity: LIMIT, refill: 1, every: HOUR_MS },
  gcra: { algorithm: 'gcra', limit: 1, period: HOUR_MS, burst: LIMIT },
}

const allowed = (answers: readonly { readonly allowed: boolean }[]) => answers.filter((answer) => answer.allowed).length

describe(`${PROCESSES} processes let exactly the limit pass`, () => {
  const shared = files.fresh()

  test.each(Object.entries(rules))('%s', async (_, rule) => {
    const answers = await processes.ask({
      file: shared,
      table: freshTable(),
      rules: [rule],
      calls: Array(HITS_EACH).fill(['hit', 'ada']),
    })
    expect(answers.flat()).toHaveLength(PROCESSES * HITS_EACH)
    expect(allowed(answers.flat())).toBe(LIMIT)
  })

  test('also of keys that overlap, each of which is charged or none', async () => {
    const several: readonly RuleSpec[] = [
      { algorithm: 'fixed-window', limit: 200, window: HOUR_MS, name: 'user', per: ['user'] },
      { algorithm: 'token-bucket', capacity: 300, refill: 1, every: HOUR_MS, name: 'org', per: ['org'] },
      { algorithm: 'sliding-log', limit: 400, window: HOUR_MS, name: 'all', per: [] },
    ]
    const table = freshTable()
    const calls = Array.from({ length: HITS_EACH }, (_, i) => [
      'hit',
      { user: ['ada', 'bob', 'cyd'][i % 3], org: ['acme', 'zeta'][i % 2] },
    ]) as unknown as readonly (readonly [string, ...unknown[]])[]
    const answers = (await processes.ask({ file: shared, table, rules: several, calls })).flat()
    expect(allowed(answers)).toBe(400)
    const limiter = createLimiter({ rules: several.map(makeRule), store: sqliteStore(files.open(shared), { table }) })
    const used = (subject: object, rule: string) => limiter.get(subject as never, { rule })
    const users = ['ada', 'bob', 'cyd'].map((user) => used({ user, org: 'acme' }, 'user'))
    const orgs = ['acme', 'zeta'].map((org) => used({ user: 'ada', org }, 'org'))
    expect([sum(users), sum(orgs), used({ user: 'ada', org: 'acme' }, 'all')]).toEqual([400, 400, 400])
  })
})

test('processes that make the file and its tables at the same moment count in the same one', async () => {
  for (let round = 0; round < 5; round++) {
    const file = files.fresh()
    const task = { file, table: 'made_at_once', rules: [rules['fixed window']], calls: Array(200).fill(['hit', 'ada']) }
    expect(allowed((await processes.ask(task)).flat())).toBe(LIMIT)
    const database = files.open(file)
    expect(onlyValue(database, 'PRAGMA integrity_check')).toBe('ok')
    expect(onlyValue(database, 'PRAGMA journal_mode')).toBe('wal')
    expect(onlyValue(database, 'SELECT count(*) FROM made_at_once')).toBe(1)
  }
})

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
