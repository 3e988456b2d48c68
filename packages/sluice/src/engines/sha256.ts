// SHA-256. It is implemented here because node:crypto does not exist everywhere, and the hash of browsers is
// asynchronous.

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes, and of the square roots of the first 8. */
const ROUNDS = fractions(64, Math.cbrt)
const START = fractions(8, Math.sqrt)

/** Returns the hash as 64 hexadecimal digits. */
export function sha256(bytes: Uint8Array): string {
  const blocks = blocksOf(bytes)
  const hash = Int32Array.from(START)
  const schedule = new Int32Array(64)
  for (let at = 0; at < blocks.length; at += 16) {
    for (let i = 0; i < 64; i++) schedule[i] = i < 16 ? blocks[at + i] : extended(schedule, i)
    mix(hash, schedule)
  }
  return Array.from(hash, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
}

function mix(hash: Int32Array, schedule: Int32Array): void {
  let [a, b, c, d, e, f, g, h] = hash
  for (let i = 0; i < 64; i++) {
    const bigE = right(e, 6) ^ right(e, 11) ^ right(e, 25)
    const first = (h + bigE + ((e & f) ^ (~e & g)) + ROUNDS[i] + schedule[i]) | 0
    const bigA = right(a, 2) ^ right(a, 13) ^ right(a, 22)
    const second = (bigA + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  const words = [a, b, c, d, e, f, g, h]
  for (let i = 0; i < 8; i++) hash[i] = (hash[i] + words[i]) | 0
}

function extended(schedule: Int32Array, i: number): number {
  const low = schedule[i - 15]
  const high = schedule[i - 2]
  const smallLow = right(low, 7) ^ right(low, 18) ^ (low >>> 3)
  const smallHigh = right(high, 17) ^ right(high, 19) ^ (high >>> 10)
  return (schedule[i - 16] + smallLow + schedule[i - 7] + smallHigh) | 0
}

/** Returns the bytes as words, padded to whole blocks of 16 words: a 1 bit, zeros, and the length in bits. */
function blocksOf(bytes: Uint8Array): Int32Array {
  const { length } = bytes
  const blocks = new Int32Array((((length + 8) >> 6) + 1) * 16)
  for (let i = 0; i < length; i++) blocks[i >> 2] |= bytes[i] << (24 - (i % 4) * 8)
  blocks[length >> 2] |= 0x80 << (24 - (length % 4) * 8)
  blocks[blocks.length - 2] = Math.floor(length / 2 ** 29)
  blocks[blocks.length - 1] = length << 3
  return blocks
}

function right(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits))
}

function fractions(count: number, root: (n: number) => number): Int32Array {
  const primes: number[] = []
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n)
  return Int32Array.from(primes, (prime) => (root(prime) * 2 ** 32) | 0)
}
