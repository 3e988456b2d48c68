import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { KeyHash } from './key-hash.ts'
import { Rows } from './rows.ts'

const seed = new Int32Array([0x01020304, -0x0a0b0c0d])

function seededHash(withSeed?: Int32Array): KeyHash {
  const hash = new KeyHash()
  hash.setSeed(withSeed)
  return hash
}

function fingerprint(hash: KeyHash, text: string): bigint {
  const hi = hash.hash(text)
  return (BigInt(hi >>> 0) << 32n) | BigInt(hash.lo >>> 0)
}

/** HalfSipHash-1-3 with 32 bits of output, as in its paper, on bytes, with BigInts. */
function halfSipHash13(bytes: Uint8Array, k0: bigint, k1: bigint): bigint {
  const mask = 0xffffffffn
  const rotate = (x: bigint, by: bigint): bigint => ((x << by) | (x >> (32n - by))) & mask
  const v = [k0, k1, 0x6c796765n ^ k0, 0x74656462n ^ k1]
  const round = (): void => {
    v[0] = (v[0] + v[1]) & mask
    v[1] = rotate(v[1], 5n) ^ v[0]
    v[0] = rotate(v[0], 16n)
    v[2] = (v[2] + v[3]) & mask
    v[3] = rotate(v[3], 8n) ^ v[2]
    v[0] = (v[0] + v[3]) & mask
    v[3] = rotate(v[3], 7n) ^ v[0]
    v[2] = (v[2] + v[1]) & mask
    v[1] = rotate(v[1], 13n) ^ v[2]
    v[2] = rotate(v[2], 16n)
  }
  const padded = new Uint8Array(Math.floor(bytes.length / 4) * 4 + 4)
  padded.set(bytes)
  padded[padded.length - 1] = bytes.length & 0xff
  for (let i = 0; i < padded.length; i += 4) {
    const word = BigInt(new DataView(padded.buffer).getUint32(i, true))
    v[3] ^= word
    round()
    v[0] ^= word
  }
  v[2] ^= 0xffn
  for (let i = 0; i < 3; i++) round()
  return v[1] ^ v[3]
}

test('the upper half is HalfSipHash-1-3 of the bytes', () => {
  const hash = seededHash(seed)
  const k0 = BigInt(seed[0] >>> 0)
  const k1 = BigInt(seed[1] >>> 0)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const hi = hash.hash(String.fromCharCode(...bytes))
      return BigInt(hi >>> 0) === halfSipHash13(bytes, k0, k1)
    }),
  )
})

test('a string has one fingerprint however it was put together', () => {
  const hash = seededHash()
  const whole = 'tenant-7:user:1234567890:/api/v1/items'
  const parts = ['tenant-7:', 'user:1234567890', ':/api/v1/items'].join('')
  const sliced = `xx${whole}xx`.slice(2, -2)
  expect(fingerprint(hash, parts)).toBe(fingerprint(hash, whole))
  expect(fingerprint(hash, sliced)).toBe(fingerprint(hash, whole))
})

test('different strings have different fingerprints, wherever they differ', () => {
  const hash = seededHash()
  const text = fc.string({ unit: 'binary', maxLength: 12 })
  fc.assert(
    fc.property(text, text, (a, b) => (a === b) === (fingerprint(hash, a) === fingerprint(hash, b))),
    { numRuns: 5000 },
  )
  const close = [
    '',
    '\0',
    '\0\0',
    'a',
    'a\0',
    '\0a',
    'a\0\0\0',
    'Āa',
    'aĀ',
    'Ā',
    'Ā\0',
    '\ud83d',
    '\ude00',
    '😀',
    '\u0001\u0000Ā',
  ]
  expect(new Set(close.map((text) => fingerprint(hash, text))).size).toBe(close.length)
})

test('another seed gives other fingerprints', () => {
  expect(fingerprint(seededHash(), 'ada')).not.toBe(fingerprint(seededHash(), 'ada'))
})

test('the fingerprint of a text does not depend on the text before it', () => {
  const hot = ['user:1', 'user:1', 'user:1', 'user:2', 'user:1', 'admin:1', 'user:1', 'user:1']
  const texts = [...hot, 'admin:2', 'user:2', 'ü', 'ü', 'ü', 'Ā', 'Ā', 'Ā', 'user:1', '', '', '', 'user:1']
  const hash = seededHash(seed)
  expect(texts.map((text) => fingerprint(hash, text))).toEqual(texts.map((text) => fingerprint(seededHash(seed), text)))
})

test('a new seed holds for the last text too', () => {
  const hash = seededHash(new Int32Array([1, 2]))
  for (let times = 0; times < 3; times++) fingerprint(hash, 'user:1')
  hash.setSeed(seed)
  expect(fingerprint(hash, 'user:1')).toBe(fingerprint(seededHash(seed), 'user:1'))
})

test('five million keys have five million fingerprints', () => {
  const hash = seededHash()
  const all = new BigUint64Array(5_000_000)
  const halves = new Uint32Array(all.buffer)
  for (let i = 0; i < all.length; i++) {
    halves[2 * i + 1] = hash.hash(`user:${i}`)
    halves[2 * i] = hash.lo
  }
  all.sort()
  let collisions = 0
  for (let i = 1; i < all.length; i++) if (all[i] === all[i - 1]) collisions += 1
  expect(collisions).toBe(0)
})

describe('keys chosen to collide elsewhere stay near their homes', () => {
  const count = 91_000
  const families: Readonly<Record<string, (i: number) => string>> = {
    'numbers in a row': (i) => String(i),
    'integers that V8 hashes to themselves': (i) => String(i * 2 ** 12),
    'a long common beginning': (i) => `${'x'.repeat(60)}${i}`,
    'a common end': (i) => `${i}${'y'.repeat(60)}`,
    'two characters that swap': (i) => (i >>> 0).toString(2).padStart(17, '0').replaceAll('0', 'Aa').replaceAll('1', 'BB'),
    'one bit here and there': (i) => String.fromCharCode(...Array.from({ length: 17 }, (_, bit) => 96 + ((i >> bit) & 1))),
    'beyond bytes': (i) => String.fromCharCode(0x4e00 + (i & 0xff), 0x4e00 + (i >> 8)),
  }
  for (const [name, key] of Object.entries(families)) {
    test(name, () => {
      const hash = seededHash()
      const rows = new Rows(2, 2 ** 17)
      let farthest = 0
      let sum = 0
      for (let i = 0; i < count; i++) {
        const hi = hash.hash(key(i))
        const row = ~rows.find(hash.lo, hi)
        rows.claim(row, hash.lo, hi, 0)
        const distance = row - rows.home(hi)
        sum += distance
        farthest = Math.max(farthest, distance)
      }
      // Linear probing at 0.7: 1.17 rows on average in theory, and runs of a hundred or so.
      expect(sum / count).toBeLessThan(1.5)
      expect(farthest).toBeLessThan(300)
    })
  }
})
