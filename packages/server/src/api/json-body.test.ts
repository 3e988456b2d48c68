import { expect, test } from 'vitest'
import { parseJson } from './json-body.ts'

const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`

test('eight levels are read, nine are refused', () => {
  expect(parseJson(nested(8))).toBeDefined()
  expect(() => parseJson(nested(9))).toThrow('nested deeper than 8 levels')
  expect(() => parseJson('{"a":'.repeat(9))).toThrow('nested deeper')
})

test('brackets side by side, or inside text, are not depth', () => {
  expect(parseJson(`[${'[],'.repeat(100)}[]]`)).toHaveLength(101)
  expect(parseJson('{"a":"[[[[[[[[[[\\"[[[[[[[["}')).toEqual({ a: '[[[[[[[[[["[[[[[[[[' })
  expect(parseJson('{"\\\\":[[[[[[[1]]]]]]]}')).toBeDefined()
})

test('what is not JSON is refused with the reason', () => {
  expect(() => parseJson('{"a":')).toThrow(/^the body is not JSON: /)
  expect(() => parseJson('  ')).toThrow('the body is not JSON: it is empty')
})
