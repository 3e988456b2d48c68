import { describe, expect, test } from 'vitest'
import { nearest, show, suggest } from './near-word.ts'

const KNOWN = ['listen', 'adminListen', 'dataFolder', 'store']

describe('the nearest word', () => {
  test.each([
    ['listn', 'listen'],
    ['Listen', 'listen'],
    ['data-folder', 'dataFolder'],
    ['DATA_FOLDR', 'dataFolder'],
    ['adminlistne', 'adminListen'],
    ['stores', 'store'],
  ])('of %s is %s', (word, meant) => {
    expect(nearest(word, KNOWN)).toBe(meant)
  })

  test.each(['', 'x', 'policies', 'l'.repeat(100_000)])('of %s there is none', (word) => {
    expect(nearest(word, KNOWN)).toBeUndefined()
  })

  test('is suggested; otherwise all words are listed', () => {
    expect(suggest('stor', KNOWN)).toBe('did you mean store?')
    expect(suggest('zebra', KNOWN)).toBe('known names are listen, adminListen, dataFolder, store')
  })
})

test('a value is shown short and quoted', () => {
  expect(show('a"b\n')).toBe('"a\\"b\\n"')
  expect(show('x'.repeat(1000)).length).toBeLessThan(100)
  expect([show(null), show(undefined), show([1]), show({}), show(Number.NaN)]).toEqual([
    'null',
    'undefined',
    'a list',
    'an object',
    'NaN',
  ])
})
