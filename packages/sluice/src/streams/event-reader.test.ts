import { describe, expect, test } from 'vitest'
import { seededRandom } from '../testing/random.ts'
import { EventReader } from './event-reader.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** The data of all events of the chunks. */
function dataOf(chunks: readonly Uint8Array[], mostBytes = 1000): string[] {
  const found: string[] = []
  const reader = new EventReader(mostBytes, (data) => found.push(data))
  for (const chunk of chunks) reader.add(chunk)
  reader.end()
  return found
}

describe('events', () => {
  test.each([
    ['with one line', 'data: a\n\n', ['a']],
    ['without a space', 'data:a\n\n', ['a']],
    ['with two spaces', 'data:  a\n\n', [' a']],
    ['with several lines', 'data: a\ndata: b\n\n', ['a\nb']],
    ['with other fields and comments', ': ping\nevent: x\nid: 7\ndata: a\nretry: 5\n\n', ['a']],
    ['without data', 'event: ping\n\n\n\n', []],
    ['with fields that begin alike', 'database: a\nda: b\ndata\n\n', []],
    ['with CR LF', 'data: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b']],
    ['with CR', 'data: a\r\rdata: b\r\r', ['a', 'b']],
    ['with a byte order mark', '\ufeffdata: a\n\n', ['a']],
    ['without an end', 'data: a\n\ndata: b', ['a', 'b']],
    ['with empty data', 'data:\n\n', ['']],
    ['of nothing', '', []],
  ])('%s', (_, text, expected) => {
    expect(dataOf([bytes(text)])).toEqual(expected)
    // Byte by byte: the cuts are inside of characters, of line ends and of names.
    expect(dataOf([...bytes(text)].map((byte) => Uint8Array.of(byte)))).toEqual(expected)
  })

  test('are the same wherever the chunks are cut', () => {
    const random = seededRandom()
    const texts = ['{"text":"Grüße, 世界 🌍"}', 'a\nb', '', '[DONE]', 'é'.repeat(700)]
    const ends = ['\n', '\r\n', '\r']
    for (let round = 0; round < 300; round++) {
      const end = ends[random.whole(0, 2)]
      const sent = Array.from({ length: random.whole(1, 8) }, () => texts[random.whole(0, texts.length - 1)])
      const event = (text: string): string =>
        text
          .split('\n')
          .map((line) => `data: ${line}${end}`)
          .join('') + end
      const all = bytes(sent.map(event).join(''))
      const chunks: Uint8Array[] = []
      for (let at = 0; at < all.length; ) {
        const next = Math.min(all.length, at + random.whole(0, 40))
        chunks.push(all.subarray(at, next))
        at = next
      }
      expect(dataOf(chunks, 4000), `SEED=${random.seed}, round ${round}`).toEqual(sent)
    }
  })

  test('that are too long are dropped, and those after them are read', () => {
    const long = 'x'.repeat(200)
    for (const size of [1, 7, 64, 10_000]) {
      for (const bad of [
        `data: ${long}\n`,
        `data: a\ndata: ${long}\ndata: b\n`,
        `event: ${long}\ndata: a\n`,
        'data: a\n'.repeat(50),
      ]) {
        const all = bytes(`data: before\n\n${bad}\ndata: after\n\n`)
        const chunks = Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.subarray(i * size, (i + 1) * size))
        expect(dataOf(chunks, 100), `${size} ${bad.slice(0, 12)}`).toEqual(['before', 'after'])
      }
    }
  })

  test('an event of the longest length is read, and one byte more is not', () => {
    const line = (length: number): Uint8Array => bytes(`data: ${'x'.repeat(length - 6)}\n\n`)
    expect(dataOf([line(100)], 100)).toHaveLength(1)
    expect(dataOf([line(101)], 100)).toEqual([])
  })

  test('bytes that never end a line take no more memory than the bound', () => {
    const reader = new EventReader(4096, () => {})
    const chunk = new Uint8Array(65_536).fill(120)
    globalThis.gc?.()
    const before = process.memoryUsage().arrayBuffers
    for (let i = 0; i < 500; i++) reader.add(chunk)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000)
  })

  test('random bytes do not throw', () => {
    const random = seededRandom()
    const reader = new EventReader(256, () => {})
    for (let i = 0; i < 2000; i++) {
      reader.add(
        Uint8Array.from(
          { length: random.whole(0, 50) },
          () => [10, 13, 58, 32, 100, 97, 116, 97, 0xef, 0xff][random.whole(0, 9)],
        ),
      )
    }
    reader.end()
  })
})
