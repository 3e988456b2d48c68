import { expect, test } from 'vitest'
import { readRecords } from './found-records.ts'

test('records are in the order of their ids, whatever order the database has', () => {
  const written = ['b', 'a', 'B', 'é', 'aa'].map((id) => ({ kind: 'policy' as const, id, text: '1' }))
  expect([...readRecords(written).tables.policy.keys()]).toEqual(['B', 'a', 'aa', 'b', 'é'])
})
