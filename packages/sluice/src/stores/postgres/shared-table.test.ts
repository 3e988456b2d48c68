// Functions and transactions on one table at the same time, and values that no rule has written.

import { describe, expect, test } from 'vitest'
import { roundsOf } from '../../../../../test/rounds.ts'
import { BAD_NUMBERS, ODD_CELLS, RULES_OF_CELLS } from '../../../test/damaged-cells.ts'
import { clientFor, freshTable, openPool, patientLimiter, realPostgres } from '../../../test/postgres/real-postgres.ts'
import type { Call } from '../../core/call.ts'
import type { TimerClock } from '../../core/clock.ts'
import { fixedWindow, type Rule, slidingLog } from '../../index.ts'
import { definitionStore, everyRule, fakeClock } from '../../testing/index.ts'
import { seededRandom } from '../../testing/random.ts'
import { postgresStore } from './postgres-store.ts'
import { postgresSchema } from './postgres-table.ts'

const server = realPostgres()
const connected = clientFor(() => openPool(server.it.url))

const table = freshTable()

/** Stores of both modes on the table, which is emptied. */
async function bothModes(options: { readonly clock?: TimerClock } = {}) {
  await connected.it.run(`${postgresSchema({ table })};DELETE FROM ${table}`)
  const open = (mode: 'function' | 'transaction') => postgresStore(connected.it.client, { ...options, table, mode })
  return { functions: open('function'), transactions: open('transaction') }
}

describe('each mode reads what the other wrote', () => {
  for (const rule of everyRule()) {
    test(rule.name, async () => {
      const random = seededRandom()
      const clock = fakeClock()
      const { functions, transactions } = await bothModes({ clock })
      const tallies = [functions.tally([rule]), transactions.tally([rule])]
      const defined = definitionStore(clock).tally([rule])
      for (let step = 0; step < roundsOf({ usual: 80, long: 3000 }); step++) {
        clock.set(clock.now() + random.pick([0, 1, 7, 90, 400, random.whole(0, 30) === 0 ? random.whole(-900, 1500) : 2]))
        const operation = random.pick(['hit', 'hit', 'hit', 'inc', 'set', 'refund', 'peek', 'expiresAt'] as const)
        const call: Call = { operation, charges: [{ rule: 0, key: 'ada', amount: random.whole(1, 3) }] }
        const expected = defined.ask(call)
        expect(await random.pick(tallies).ask(call), `SEED=${random.seed}, step ${step}: ${operation}`).toEqual(expected)
      }
    })
  }
})

test('both modes at once let exactly the limit through, on overlapping keys, without a deadlock', async () => {
  const rules = [
    fixedWindow({ limit: 200, window: '1h', name: 'user', per: 'user' }),
    slidingLog({ limit: 300, window: '1h', name: 'org', per: 'org' }),
    fixedWindow({ limit: 450, window: '1h', name: 'all', per: [] }),
  ]
  const { functions, transactions } = await bothModes()
  const limiters = [functions, transactions].map((store) => patientLimiter(rules, store))
  const random = seededRandom()
  const decisions = await Promise.all(
    Array.from({ length: 1500 }, (_, i) => {
      const subject = { user: random.pick(['ada', 'bob', 'eve']), org: random.pick(['acme', 'zeta']) }
      return limiters[i % 2].hit(subject as unknown as string)
    }),
  )
  const allowed = decisions.filter((decision) => decision.allowed).length
  expect(allowed).toBe(450)
  expect(decisions.every(({ source }) => source === 'store')).toBe(true)
})

describe('a damaged value fails its own call, and no other', () => {
  async function limiterWith(rule: Rule) {
    const { functions } = await bothModes()
    const limiter = patientLimiter(rule, functions)
    await limiter.hit('ada')
    const [{ name, value }] = await server.it.query(`SELECT name, value FROM ${table}`)
    const put = (cells: string) => server.it.query(`UPDATE ${table} SET value = '${cells}' WHERE name = '${name}'`)
    const expectRefused = async (what: string) => {
      const settled = await Promise.allSettled(['bob', 'ada', 'eve'].map((key) => limiter.hit(key)))
      await limiter.reset('bob')
      await limiter.reset('eve')
      expect(settled[1], what).toMatchObject({ status: 'rejected', reason: { code: 'ERR_STORE_FATAL', value: name } })
      for (const other of [settled[0], settled[2]])
        expect(other, what).toMatchObject({ status: 'fulfilled', value: { source: 'store' } })
    }
    return { limiter, cells: value as number[], put, expectRefused }
  }

  test.each(Object.entries(RULES_OF_CELLS))('numbers that no rule writes: %s', async (_, rule) => {
    const { limiter, cells, put, expectRefused } = await limiterWith(rule)
    for (const at of cells.keys()) {
      for (const number of [...BAD_NUMBERS, 'NULL']) {
        await put(`{${(cells as (number | string)[]).with(at, number).join()}}`)
        await expectRefused(`cell ${at} is ${number}`)
      }
    }
    await put(`{${cells.slice(1).join()}}`)
    await expectRefused('a cell is missing')
    await put(`{${[...cells, 1].join()}}`)
    await expectRefused('there is one more cell')
    await put(`{{${cells.join()}}}`)
    await expectRefused('the array has two dimensions')
    await limiter.reset('ada')
    expect(await limiter.hit('ada')).toMatchObject({ allowed: true, source: 'store' })
  })

  test.each(ODD_CELLS)('%s', async (_, rule, cells) => {
    const { put, expectRefused } = await limiterWith(rule)
    await put(`{${cells.join()}}`)
    await expectRefused('odd cells')
  })

  test('logs', async () => {
    const { cells, put, expectRefused } = await limiterWith(slidingLog({ limit: 5, window: '1h' }))
    const [expiresAt, base, head, count, slots, timeMs, sum] = cells
    const odd: Readonly<Record<string, readonly (number | string)[]>> = {
      'a header only': cells.slice(0, 5),
      'four cells': cells.slice(0, 4),
      'more entries than slots': [expiresAt, base, head, 2, slots, timeMs, sum],
      'more slots than cells': [expiresAt, base, head, count, 9, timeMs, sum],
      'no entry': [expiresAt, base, head, 0, slots, timeMs, sum],
      'an end before its entries': [timeMs, base, head, count, slots, timeMs, sum],
      'a fraction': [expiresAt, base, head, count, slots, timeMs, 0.5],
      'a negative number': [expiresAt, -1, head, count, slots, timeMs, sum],
      'not a number': [expiresAt, base, head, count, slots, timeMs, 'NaN'],
      nothing: [expiresAt, base, head, count, slots, timeMs, 'NULL'],
    }
    for (const [what, bad] of Object.entries(odd)) {
      await put(`{${bad.join()}}`)
      await expectRefused(what)
    }
  })
})
