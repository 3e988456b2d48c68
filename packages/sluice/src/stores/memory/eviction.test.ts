import { expect, test } from 'vitest'
import { longestRun } from '../../../test/longest-run.ts'
import { FULL } from '../../core/rule-log.ts'
import { seededRandom } from '../../testing/random.ts'
import { ByteBudget } from './byte-budget.ts'
import { Eviction } from './eviction.ts'
import { Table } from './table.ts'

const MOST_ROWS = 91_000
const FAR = 1e12

test('a crowded part of a table that is full of old, used-up states becomes as sparse as the rest', () => {
  const random = seededRandom()
  const table = new Table({ maxKeys: MOST_ROWS, budget: new ByteBudget(2 ** 40) }, 2)
  table.reserve(MOST_ROWS)
  const eviction = new Eviction(MOST_ROWS)
  const claim = (hi: number): void => {
    table.epochs.countClaim(table.count, table.count, true)
    const row = table.claim(random.whole(1, 2 ** 31 - 1), hi, table.epochs.present)
    const rows = table.rowsFor(hi)
    rows.cells[rows.at(row)] = FAR
    rows.pressure[row] = FULL
  }
  const anywhere = (): number => random.whole(-(2 ** 31), 2 ** 31 - 1)
  for (let i = 0; i < 3000; i++) claim(random.whole(2 ** 30, 2 ** 30 + 2 ** 32 / 50))
  while (table.count < MOST_ROWS) claim(anywhere())
  expect(longestRun(table.rows), `SEED=${random.seed}`).toBeGreaterThan(1000)
  for (let i = 0; i < 4 * MOST_ROWS; i++) {
    if (table.count >= MOST_ROWS) eviction.makeSpace([table], 0)
    claim(anywhere())
  }
  expect(longestRun(table.rows), `SEED=${random.seed}`).toBeLessThan(400)
})
