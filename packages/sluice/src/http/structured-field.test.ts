import fc from 'fast-check'
import { parseItem } from 'structured-headers'
import { expect, test } from 'vitest'
import { integer } from './rate-limit-fields.ts'
import { byteSequence, printable, string } from './structured-field.ts'

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('"', '\\', '%', '2', '5', '\r', '\n', '\0', 'é', '😀', '\ud800', '\udc00', '\ufffd') }),
)

test('printable ASCII stays as it is, everything else is written out', () => {
  expect(printable('daily (free) "x" \\')).toBe('daily (free) "x" \\')
  expect(printable('100%')).toBe('100%25')
  expect(printable('a\r\nb\0')).toBe('a%0D%0Ab%00')
  expect(printable('é€😀')).toBe('%C3%A9%E2%82%AC%F0%9F%98%80')
  expect(printable('')).toBe('')
})

test('strings that differ stay different, halves of surrogate pairs too', () => {
  expect(printable('\ud800')).not.toBe(printable('\ud801'))
  expect(printable('\ud800')).not.toBe(printable('\ufffd'))
  expect(printable('%0D')).not.toBe(printable('\r'))
  fc.assert(fc.property(anyText, anyText, (a, b) => (printable(a) === printable(b)) === (a === b)))
})

test('a URL decoder reads back whatever is Unicode', () => {
  fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => decodeURIComponent(printable(text)) === text))
})

test('any text is a String that an independent parser reads back', () => {
  fc.assert(fc.property(anyText, (text) => parseItem(string(printable(text)))[0] === printable(text)))
})

test('any bytes are a Byte Sequence that an independent parser reads back', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      expect(new Uint8Array(parseItem(byteSequence(bytes))[0] as ArrayBuffer)).toEqual(bytes)
    }),
  )
  expect(byteSequence('user:42')).toBe(':dXNlcjo0Mg==:')
  expect(byteSequence('é')).toBe(':w6k=:')
  expect(byteSequence('')).toBe('::')
})

test('a number with more digits than an Integer has becomes the largest Integer', () => {
  expect(parseItem(`${integer(Number.MAX_SAFE_INTEGER)}`)[0]).toBe(999_999_999_999_999)
  expect(integer(999_999_999_999_999)).toBe(999_999_999_999_999)
  expect(integer(0)).toBe(0)
})
