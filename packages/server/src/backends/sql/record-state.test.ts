import { expect, test } from 'vitest'
import { RECORDS_A_PAGE, readTables } from './record-state.ts'
import type { Row } from './sql-program.ts'

test('records are read in pages, each after the last record of the one before', () => {
  const count = 2 * RECORDS_A_PAGE
  const rows: Row[] = Array.from({ length: count }, (_, i) => ({
    kind: i < 3 ? 1 : 2,
    id: String(i).padStart(6, '0'),
    value: '1',
  }))
  const asked: unknown[] = []
  const program = readTables()
  let step = program.next()
  while (!step.done) {
    asked.push(step.value.values)
    step = program.next(rows.splice(0, RECORDS_A_PAGE))
  }
  expect(asked).toEqual([
    [0, '', RECORDS_A_PAGE],
    [2, '009999', RECORDS_A_PAGE],
    [2, '019999', RECORDS_A_PAGE],
  ])
  expect([step.value.tables.policy.size, step.value.tables.key.size]).toEqual([3, count - 3])
})
