import { expect, test } from 'vitest'
import { cutTo, widthOf } from './text-width.ts'

test.each([
  ['', 0],
  ['ada', 3],
  ['Zoë', 3],
  ['Zoe\u0308', 3],
  ['顧客', 4],
  ['👍', 2],
  ['▁▂█…', 4],
])('%j takes %d columns', (text, columns) => expect(widthOf(text)).toBe(columns))

test('text that does not fit ends with an ellipsis, and no character is cut in half', () => {
  expect(['acme', 'acme corp', '顧客顧客', '👍👍👍'].map((text) => cutTo(text, 4))).toEqual(['acme', 'acm…', '顧…', '👍…'])
  expect([cutTo('acme', 1), cutTo('acme', 0), cutTo('', 0)]).toEqual(['…', '', ''])
})
