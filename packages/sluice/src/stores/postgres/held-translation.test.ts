// Compares holds in Postgres with the definition, call by call: by functions, by transactions, and by both in turn on one table.

import { describe, expect, test } from 'vitest'
import { roundsOf } from '../../../../../test/rounds.ts'
import { clientFor, freshTable, openPool, realPostgres } from '../../../test/postgres/real-postgres.ts'
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts'
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts'
import type { Rule } from '../../core/rule.ts'
import type { Tally } from '../../core/store.ts'
import { holdWalk } from '../../testing/hold-walk.ts'
import { definitionStore, everyRule, exampleRule, type FakeClock, fakeClock } from '../../testing/index.ts'
import { seededRandom } from '../../testing/random.ts'
import { type PostgresMode, postgresStore } from './postgres-store.ts'
import { postgresSchema } from './postgres-table.ts'

const server = realPostgres()
const connected = clientFor(() => openPool(server.it.url))
const table = freshTable()

async function tallyOf(mode: PostgresMode, rules: readonly Rule[], clock: FakeClock): Promise<Tally> {
  await connected.it.run(postgresSchema({ table }))
  // The tests share a table. The sweep of one, whose clock is ahead, would take rows of the next.
  return postgresStore(connected.it.client, { clock, table, mode, sweepEveryMs: 0 }).tally(rules)
}

type MakeTally = (rules: readonly Rule[], clock: FakeClock) => Promise<Tally>

const MODES: Readonly<Record<string, MakeTally>> = {
  functions: (rules, clock) => tallyOf('function', rules, clock),
  transactions: (rules, clock) => tallyOf('transaction', rules, clock),
  async 'both in turn'(rules, clock) {
    const modes = [await tallyOf('function', rules, clock), await tallyOf('transaction', rules, clock)]
    let calls = 0
    return { ask: (call) => modes[calls++ % 2].ask(call) }
  },
}

const RULES = [...everyRule(), exampleRule('concurrency')]

async function walk(makeTally: MakeTally, rules: readonly Rule[], steps: number, atOnce: number): Promise<void> {
  const clock = fakeClock()
  const tested = await makeTally(rules, clock)
  await connected.it.run(`DELETE FROM ${table}`)
  await holdWalk({
    tested,
    defined: definitionStore(clock).tally(rules),
    rules,
    clock,
    random: seededRandom(),
    steps,
    isTimed: true,
    atOnce,
  })
}

test.each(['function', 'transaction'] as const)(
  'by %s, a row lasts as long as the definition says after the limit was lowered',
  async (mode) => {
    const clock = fakeClock()
    const rules = [1000, 10].map((capacity) => tokenBucket({ capacity, refill: 1, every: '1s', name: 'lowered' }))
    await tallyOf(mode, rules, clock)
    await connected.it.run(`DELETE FROM ${table}`)
    for (const rule of rules) {
      const tally = await tallyOf(mode, [rule], clock)
      const charges = [{ rule: 0, key: 'ada', amount: 1 }]
      for (const [id, least] of rule.limit === 1000 ? [450, 401].entries() : []) {
        const hold = { id, ttlMs: 60_000, isCharged: true, most: 9 }
        await tally.ask({ operation: 'reserve', charges: [{ ...charges[0], amount: least, least }], hold })
      }
      await tally.ask({ operation: 'inc', charges })
    }
    // Two windows of 10 s after the end of the holds, and 85 more: 851 units are 86 times the limit.
    const answer = (await connected.it.run(`SELECT ends_at FROM ${table}`)) as {
      readonly rows: readonly { readonly ends_at: unknown }[]
    }
    expect(answer.rows.map(({ ends_at }) => Number(ends_at) - clock.now())).toEqual([60_000 + 20_000 + 850_000])
  },
)

describe.each(Object.entries(MODES))('%s', (mode, makeTally) => {
  // The store suite has walks on each rule by transactions.
  const isShort = mode !== 'functions' && process.env.TEST_LONG === undefined
  // Commands with several calls are decided in order, but two modes do not wait for each other.
  const atOnce = mode === 'both in turn' ? 1 : 4
  test.each(isShort ? [] : RULES)('$name', async (rule) => {
    await walk(makeTally, [rule], roundsOf({ usual: 50, long: 3000 }), atOnce)
  })

  test('calls on several rules', async () => {
    await walk(makeTally, RULES, roundsOf({ usual: 100, long: 5000 }), atOnce)
  })
})

test('a key with thousands of holds that have expired is decided in a fraction of a second by functions', async () => {
  const clock = fakeClock()
  const rules = [fixedWindow({ limit: 10_000, window: '1d' })]
  const writing = await tallyOf('transaction', rules, clock)
  const charges = [{ rule: 0, key: 'crowded', amount: 1, least: 1 }]
  const reserve = (id: number) =>
    writing.ask({ operation: 'reserve', charges, hold: { id, ttlMs: 1 + (id % 50), isCharged: true, most: 3000 } })
  await Promise.all(Array.from({ length: 3000 }, (_, id) => reserve(id)))
  clock.advance(100)
  const reading = await tallyOf('function', rules, clock)
  await reading.ask({ operation: 'get', charges: [{ rule: 0, key: 'other', amount: 0 }] })
  const startMs = performance.now()
  expect(await reading.ask({ operation: 'get', charges: [{ rule: 0, key: 'crowded', amount: 0 }] })).toEqual([3000])
  expect(performance.now() - startMs).toBeLessThan(400)
})
