import { expect, test } from 'vitest'
import { hasLogBytes, lackingLogBytes } from '../../core/log-budget.ts'
import { ByteBudget } from './byte-budget.ts'

const MIB = 2 ** 20

test('tables and logs leave a quarter to each other, and a mebibyte to shared slabs', () => {
  const budget = new ByteBudget(16 * MIB)
  expect([budget.hasTableBytes(12 * MIB), budget.hasTableBytes(12 * MIB + 1)]).toEqual([true, false])
  expect(lackingLogBytes(budget, 13 * MIB)).toBe(MIB)
  budget.logs = 4 * MIB
  expect([budget.hasTableBytes(11 * MIB), budget.hasTableBytes(11 * MIB + 1)]).toEqual([true, false])
  budget.tables = 11 * MIB
  expect([hasLogBytes(budget, 0), hasLogBytes(budget, 1), lackingLogBytes(budget, 10)]).toEqual([true, false, 10])
})

test('long logs leave an eighth of the bytes of logs free', () => {
  const budget = new ByteBudget(16 * MIB)
  budget.logs = 10 * MIB
  expect([lackingLogBytes(budget, MIB / 2, true), lackingLogBytes(budget, MIB, true)]).toEqual([0, MIB / 2])
  budget.tables = 5 * MIB
  expect(lackingLogBytes(budget, 0, true)).toBe(1.5 * MIB)
})
