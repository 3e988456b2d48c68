import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { areEqual, logBytes, textOf } from './log-bytes.ts'
import { LONGEST_KEPT, NO_TAG, TextCache, UNKNOWN } from './text-cache.ts'

/** Puts a text between others, as a line has it. */
function line(text: string | Buffer) {
  const bytes = Buffer.from(text as string)
  return { line: logBytes(Buffer.concat([Buffer.from('ab'), bytes, Buffer.from('cdefg')])), from: 2, to: 2 + bytes.length }
}

function find(cache: TextCache, text: string | Buffer): number {
  const { line: bytes, from, to } = line(text)
  return cache.find(bytes, from, to)
}

function add(cache: TextCache, text: string | Buffer, decoded: string | null = text.toString()): number {
  const { line: bytes, from, to } = line(text)
  return cache.add(bytes, from, to, decoded)
}

describe('a text cache', () => {
  test('finds exactly the texts that were added, whatever their bytes are', () => {
    const texts = fc.array(fc.oneof(fc.string(), fc.constantFrom('', 'a', 'ab', 'abc', 'abcd', 'abcde', '\0', '\0\0')), {
      maxLength: 50,
    })
    fc.assert(
      fc.property(texts, texts, (added, others) => {
        const cache = new TextCache(1000)
        for (const text of added) if (find(cache, text) === UNKNOWN) add(cache, text)
        for (const text of [...added, ...others]) {
          const number = find(cache, text)
          expect(number === UNKNOWN ? undefined : cache.text(number)).toBe(added.includes(text) ? text : undefined)
        }
      }),
    )
  })

  test('keeps a tag with each text', () => {
    const cache = new TextCache(5000)
    for (let i = 0; i < 4000; i++) cache.setTag(add(cache, `text ${i}`), i)
    expect(cache.tag(add(cache, 'without'))).toBe(NO_TAG)
    const kept = Array.from({ length: 4000 }, (_, i) => find(cache, `text ${i}`)).filter((number) => number !== UNKNOWN)
    // A text whose places are all taken may push another one out.
    expect(kept.length).toBeGreaterThan(3900)
    for (const number of kept) expect(`text ${cache.tag(number)}`).toBe(cache.text(number))
  })

  test('forgets all if there are too many texts or too many bytes, and its memory is bounded', () => {
    for (const [most, length] of [
      [1000, 10],
      [200, LONGEST_KEPT],
    ]) {
      const cache = new TextCache(most)
      for (let i = 0; i < 10 * most; i++) {
        const text = String(i).padEnd(length, '.')
        cache.setTag(add(cache, text), i)
        expect(cache.text(find(cache, text))).toBe(text)
        expect(cache.size).toBeLessThanOrEqual(most)
      }
      expect(cache.bytes).toBeLessThan(256 * 1024)
      expect(find(cache, '0'.padEnd(length, '.'))).toBe(UNKNOWN)
    }
  })

  test('does not keep a long text, and knows missing ones', () => {
    const cache = new TextCache(10)
    expect(add(cache, 'x'.repeat(LONGEST_KEPT + 1))).toBe(UNKNOWN)
    expect(find(cache, 'x'.repeat(LONGEST_KEPT + 1))).toBe(UNKNOWN)
    add(cache, '-', null)
    expect(cache.text(find(cache, '-'))).toBe(null)
  })
})

test('bytes are equal only if all of them are', () => {
  const [a, b] = ['0123456789', 'xx0123456789'].map((text) => logBytes(Buffer.from(text)))
  for (let length = 0; length <= 10; length++) {
    expect(areEqual(a.view, 0, b.view, 2, length)).toBe(true)
    for (let at = 0; at < length; at++) {
      b.bytes[2 + at] ^= 1
      expect(areEqual(a.view, 0, b.view, 2, length)).toBe(false)
      b.bytes[2 + at] ^= 1
    }
  }
  expect(textOf(b, 2, 5)).toBe('012')
})
