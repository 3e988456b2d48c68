import { expect, test } from 'vitest'
import { nearest } from './nearest.ts'

test('the nearest word is found if it is near enough', () => {
  const known = ['limit', 'window', 'anchor', 'countDenied']
  expect(nearest('windw', known)).toBe('window')
  expect(nearest('CountDeny', known)).toBe('countDenied')
  expect(nearest('limits', known)).toBe('limit')
  expect(nearest('burstiness', known)).toBeUndefined()
  expect(nearest('x'.repeat(10_000), known)).toBeUndefined()
})
