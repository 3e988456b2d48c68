import { expect, test } from 'vitest'
import { count, countOf, table, wait } from './table.ts'

test('numbers are right-aligned, text is left-aligned, and a name cannot break a row', () => {
  expect(
    table([
      ['client', 'denied', ''],
      ['acme', 1234567, 'a'],
      ['two\nlines', 8, ''],
    ]),
  ).toBe(['client        denied', 'acme       1,234,567  a', 'two·lines          8'].join('\n'))
  expect(table([['name', 'limit']])).toBe('name  limit')
})

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1001, '2 s'],
  [119_000, '119 s'],
  [121_000, '3 min'],
  [7_200_000, '2 h'],
  [172_800_001, '3 d'],
  [Number.POSITIVE_INFINITY, 'never'],
])('%d ms are %s', (ms, said) => expect(wait(ms)).toBe(said))

test('counts', () => {
  expect([count(1234.5), countOf(1, 'policy', 'policies'), countOf(1000, 'policy', 'policies')]).toEqual([
    '1,234.5',
    '1 policy',
    '1,000 policies',
  ])
})
