import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Reply, ReplyReader } from './reply-reader.ts'

const MOST_VALUE_BYTES = 5000

function read(...pieces: (string | Buffer)[]): Reply[] {
  const replies: Reply[] = []
  const reader = new ReplyReader(MOST_VALUE_BYTES, (reply) => replies.push(reply))
  for (const piece of pieces) reader.push(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece)
  return replies
}

/** Replies as plain values, so that they can be compared. */
function shown(replies: readonly Reply[]): unknown[] {
  return replies.map((reply) =>
    reply.kind === 'value' ? { ...reply, bytes: Buffer.from(reply.bytes).toString('latin1') } : reply,
  )
}

const ALL =
  'MN\r\nSTORED\r\nEN\r\nEN O7\r\nHD O1\r\nNS O2\r\nEX O3\r\nNF O4\r\nVA 5 c18446744073709551615 O5\r\na\r\nb\u00ff\r\n' +
  'VA 0 c1 O999999999\r\n\r\nSERVER_ERROR out of memory storing object\r\nCLIENT_ERROR bad data chunk\r\nERROR\r\nHD O6\r\n'

const EXPECTED = [
  { kind: 'status', code: 'MN', opaque: undefined },
  { kind: 'status', code: 'STORED', opaque: undefined },
  { kind: 'status', code: 'EN', opaque: undefined },
  { kind: 'status', code: 'EN', opaque: 7 },
  { kind: 'status', code: 'HD', opaque: 1 },
  { kind: 'status', code: 'NS', opaque: 2 },
  { kind: 'status', code: 'EX', opaque: 3 },
  { kind: 'status', code: 'NF', opaque: 4 },
  { kind: 'value', bytes: 'a\r\nb\u00ff', cas: '18446744073709551615', opaque: 5 },
  { kind: 'value', bytes: '', cas: '1', opaque: 999_999_999 },
  { kind: 'error', text: 'SERVER_ERROR out of memory storing object' },
  { kind: 'error', text: 'CLIENT_ERROR bad data chunk' },
  { kind: 'error', text: 'ERROR' },
  { kind: 'status', code: 'HD', opaque: 6 },
]

describe('replies in pieces', () => {
  test('all at once', () => {
    expect(shown(read(ALL))).toEqual(EXPECTED)
  })

  test('byte by byte', () => {
    expect(shown(read(...ALL))).toEqual(EXPECTED)
  })

  test('cut at every byte: in two pieces all replies are read, in one only those that are complete', () => {
    for (let cut = 0; cut <= ALL.length; cut++) {
      expect(shown(read(ALL.slice(0, cut), ALL.slice(cut)))).toEqual(EXPECTED)
      const complete = shown(read(ALL.slice(0, cut)))
      expect(complete).toEqual(EXPECTED.slice(0, complete.length))
      expect(complete.length === EXPECTED.length).toBe(cut === ALL.length)
    }
  })

  test('cut at random places', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(ALL.length), { maxLength: 20 }), (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), ALL.length]
        expect(shown(read(...at.slice(1).map((end, i) => ALL.slice(at[i], end))))).toEqual(EXPECTED)
      }),
    )
  })
})

describe('mutations', () => {
  test('a changed byte gives an error or other replies, and never more bytes than there were', () => {
    for (let at = 0; at < ALL.length; at++) {
      for (const byte of [0, 10, 13, 32, 48, 57, 65, 79, 127, 255]) {
        const mutated = Buffer.from(ALL, 'latin1')
        if (mutated[at] === byte) continue
        mutated[at] = byte
        const replies: Reply[] = []
        const reader = new ReplyReader(MOST_VALUE_BYTES, (reply) => replies.push(reply))
        try {
          reader.push(mutated)
        } catch (error) {
          expect((error as Error).message).toMatch(/^(?:a reply|a value|a line)/)
        }
        expect(shown(replies)).not.toEqual(EXPECTED)
        expect(replies.length).toBeLessThanOrEqual(EXPECTED.length + 1)
      }
    }
  })

  test.each([
    ['an unknown word', 'OK\r\n'],
    ['an empty line', '\r\n'],
    ['a line that ends with LF alone', 'HD O1\n'],
    ['a line feed first', '\n'],
    ['a space at the end', 'HD \r\n'],
    ['a flag that was not asked for', 'HD O1 k5\r\n'],
    ['a value without a version', 'VA 2 O1\r\nab\r\n'],
    ['a value without a number', 'VA 2 c1\r\nab\r\n'],
    ['a negative length', 'VA -1 c1 O1\r\n'],
    ['a length with a sign', 'VA +2 c1 O1\r\nab\r\n'],
    ['a length with a leading zero', 'VA 02 c1 O1\r\nab\r\n'],
    ['a length in hexadecimal', 'VA 0x2 c1 O1\r\nab\r\n'],
    ['a length that is no number', 'VA 2e1 c1 O1\r\n'],
    ['a length above the bound', `VA ${MOST_VALUE_BYTES + 1} c1 O1\r\n`],
    ['a huge length', 'VA 99999999999 c1 O1\r\n'],
    ['a version of 21 digits', 'VA 2 c184467440737095516150 O1\r\nab\r\n'],
    ['a value that is too long', 'VA 2 c1 O1\r\nabc\r\n'],
    ['a value that is too short', 'VA 4 c1 O1\r\nab\r\nHD O2\r\n'],
    ['a control character in an error', 'SERVER_ERROR \u0007\r\n'],
    ['the classic protocol', 'VALUE k 0 2\r\nab\r\nEND\r\n'],
    ['HTTP', 'HTTP/1.1 400 Bad Request\r\n'],
    ['no line end', 'x'.repeat(1025)],
    ['an error without an end', `SERVER_ERROR ${'x'.repeat(2000)}`],
  ])('%s is refused', (_, text) => {
    expect(() => read(text)).toThrow(/^a (?:reply|value|line)/)
    expect(() => read(...text)).toThrow(/^a (?:reply|value|line)/)
  })
})

test('a value that arrives byte by byte takes no more memory than its length', () => {
  const length = 1_000_000
  const replies: Reply[] = []
  const reader = new ReplyReader(length, (reply) => replies.push(reply))
  reader.push(Buffer.from(`VA ${length} c1 O1\r\n`))
  const before = process.memoryUsage()
  for (let i = 0; i < length; i++) reader.push(Buffer.from([i & 127]))
  expect(process.memoryUsage().arrayBuffers - before.arrayBuffers).toBeLessThan(20_000_000)
  reader.push(Buffer.from('\r\n'))
  expect(replies).toHaveLength(1)
  expect(replies[0]).toMatchObject({ kind: 'value', cas: '1' })
})
