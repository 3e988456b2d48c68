import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseJson as parseBody } from './json-body.ts'

const parseJson = (text: string) => parseBody(Buffer.from(text))

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

test('only the depth of the value counts, not text in quotes', () => {
  const depthOf = (value: unknown): number =>
    value !== null && typeof value === 'object' ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
  const text = fc.string({ unit: fc.constantFrom('"', '\\', '{', '[', ']', '}', 'a') })
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 10 },
      text,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(text, tie('value'), { maxKeys: 3 }),
    ),
  }))
  fc.assert(
    fc.property(value, fc.nat(9), (inner, more) => {
      let whole = inner
      for (let i = 0; i < more; i++) whole = i % 2 === 0 ? [whole] : { a: whole }
      const written = JSON.stringify(whole)
      if (depthOf(whole) > 8) expect(() => parseJson(written)).toThrow('nested deeper')
      else expect(parseJson(written)).toEqual(whole)
    }),
  )
})

test('text that is not JSON is refused with the reason', () => {
  expect(() => parseJson('{"a":')).toThrow(/^the body is not JSON: /)
  expect(() => parseJson('  ')).toThrow('the body is not JSON: it is empty')
})

test('text is kept exactly, and invalid Unicode is refused', () => {
  for (const text of ['"\\ud83d\\ude00"', '"\\\\ud800"', '"ä\u{1f600}"', '{"\\u00e4":["\\ufffd"]}'])
    expect(parseJson(text)).toEqual(JSON.parse(text))
  for (const text of ['"\\ud800"', '["\\ude00\\ud83d"]', '{"\\udfff":1}', '{"a":{"b":["c","\\uD83d x"]}}']) {
    expect(() => parseJson(text), text).toThrow('the body has half a character')
  }
  for (const bytes of [
    [0x22, 0xff, 0x22],
    [0x22, 0xc3, 0x22],
    [0x22, 0xed, 0xa0, 0x80, 0x22],
  ]) {
    expect(() => parseBody(Buffer.from(bytes))).toThrow('the body is not UTF-8')
  }
})
