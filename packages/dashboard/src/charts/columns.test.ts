import { expect, test } from 'vitest'
import { joined } from './columns.ts'

test('neighbours are joined until few columns are left, and no count is lost', () => {
  expect(joined([1, 2, 3], 60)).toEqual([1, 2, 3])
  expect(joined([1, 2, 3, 4, 5], 3)).toEqual([3, 7, 5])
  const many = Array.from({ length: 240 }, (_, i) => i)
  expect(joined(many, 60)).toHaveLength(60)
  expect(joined(many, 60).reduce((sum, count) => sum + count, 0)).toBe((239 * 240) / 2)
  expect(joined([], 60)).toEqual([])
})
