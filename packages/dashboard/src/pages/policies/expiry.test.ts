import { expect, test } from 'vitest'
import { endAt, localText, readLocal } from './expiry.ts'

const NOW = new Date(2027, 0, 31, 22, 15, 30)

test('quick choices are times of the browser, in UTC', () => {
  expect(new Date(endAt('hour', NOW))).toEqual(new Date(2027, 0, 31, 23, 15, 30))
  expect(new Date(endAt('tomorrow', NOW))).toEqual(new Date(2027, 1, 1, 8))
  expect(new Date(endAt('week', NOW)).getTime() - NOW.getTime()).toBe(7 * 86_400_000)
  expect(endAt('never', NOW)).toBe('')
  expect(endAt('hour', NOW)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
})

test('a date field shows and reads the same minute', () => {
  expect(localText(endAt('tomorrow', NOW))).toBe('2027-02-01T08:00')
  expect(new Date(readLocal('2027-02-01T08:00'))).toEqual(new Date(2027, 1, 1, 8))
  expect([localText(''), localText('soon'), readLocal(''), readLocal('soon')]).toEqual(['', '', '', ''])
})
