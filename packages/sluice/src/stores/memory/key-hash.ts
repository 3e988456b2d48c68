// A 64-bit fingerprint of a string: HalfSipHash-1-3 with a random seed, so that clients cannot construct keys that collide.
// The 32-bit result of the hash is the upper half, which selects the row. The lower half comes from the same final state.
// The round is written four times, because a function call would cost more than the round.

export class KeyHash {
  /** The lower half of the last fingerprint. Both halves are signed 32-bit numbers. */
  lo = 0
  /**
   * The seed: two 32-bit words. It is a secret: with it, colliding keys can be constructed. Undefined before `setSeed`. Fingerprints
   * made before it must not be used.
   */
  seed: Int32Array | undefined = undefined
  #k0 = 0
  #k1 = 0
  /** The upper half of the last fingerprint. */
  #hi = 0
  /**
   * A text that came twice in a row, its last character and its fingerprint: a hot key is hit many times in a row. A text that came
   * once is not kept, because to store a new string in an old object takes as long as to hash it.
   */
  #hot = ''
  #hotEnd = 0
  #hotHi = 0
  #hotLo = 0

  /** Sets the seed. Default: random. */
  setSeed(seed: Int32Array = crypto.getRandomValues(new Int32Array(2))): void {
    this.#k0 = seed[0]
    this.#k1 = seed[1]
    this.seed = seed
    this.#hot = ''
  }

  /** Returns the upper half of the fingerprint of `text`. The lower half is in `lo` until the next call. */
  hash(text: string): number {
    const length = text.length
    // Most texts differ from the hot one in their last character, and comparing it is cheaper than comparing strings.
    const end = text.charCodeAt(length - 1)
    if (end === this.#hotEnd && text === this.#hot) {
      this.lo = this.#hotLo
      return this.#hotHi
    }
    let v0 = this.#k0
    let v1 = this.#k1
    let v2 = v0 ^ 0x6c796765
    let v3 = v1 ^ 0x74656462
    let seen = 0
    let i = 0
    for (; i + 4 <= length; i += 4) {
      const a = text.charCodeAt(i)
      const b = text.charCodeAt(i + 1)
      const c = text.charCodeAt(i + 2)
      const d = text.charCodeAt(i + 3)
      seen |= a | b | c | d
      const word = a | (b << 8) | (c << 16) | (d << 24)
      v3 ^= word
      v0 = (v0 + v1) | 0
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
      v0 = (v0 << 16) | (v0 >>> 16)
      v2 = (v2 + v3) | 0
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
      v0 = (v0 + v3) | 0
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
      v2 = (v2 + v1) | 0
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
      v2 = (v2 << 16) | (v2 >>> 16)
      v0 ^= word
    }
    let last = length << 24
    for (let shift = 0; i < length; i++, shift += 8) {
      const a = text.charCodeAt(i)
      seen |= a
      last |= a << shift
    }
    v3 ^= last
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
    v0 ^= last
    // If a character is above 255, four characters do not fit into a word.
    if (seen > 0xff) return this.#hashWide(text, end)
    v2 ^= 0xff
    for (let round = 0; round < 3; round++) {
      v0 = (v0 + v1) | 0
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
      v0 = (v0 << 16) | (v0 >>> 16)
      v2 = (v2 + v3) | 0
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
      v0 = (v0 + v3) | 0
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
      v2 = (v2 + v1) | 0
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
      v2 = (v2 << 16) | (v2 >>> 16)
    }
    return this.#keep(text, end, v0 ^ v2, v1 ^ v3)
  }

  /** Hashes two characters per word, from another initial state, so that the result differs from that of a string of bytes. */
  #hashWide(text: string, end: number): number {
    const { length } = text
    const last = length - (length % 2)
    let v0 = this.#k0
    let v1 = this.#k1 ^ 0xee
    let v2 = v0 ^ 0x6c796765
    let v3 = v1 ^ 0x74656462
    // Three rounds follow the last word. They have no word.
    for (let i = 0; i <= last + 6; i += 2) {
      let word = 0
      if (i < last) word = text.charCodeAt(i) | (text.charCodeAt(i + 1) << 16)
      // The upper half of the last word is 1 if a character is left for it, else 2.
      else if (i === last) word = i < length ? 0x10000 | text.charCodeAt(i) : 0x20000
      else if (i === last + 2) v2 ^= 0xff
      v3 ^= word
      v0 = (v0 + v1) | 0
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
      v0 = (v0 << 16) | (v0 >>> 16)
      v2 = (v2 + v3) | 0
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
      v0 = (v0 + v3) | 0
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
      v2 = (v2 + v1) | 0
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
      v2 = (v2 << 16) | (v2 >>> 16)
      v0 ^= word
    }
    return this.#keep(text, end, v0 ^ v2, v1 ^ v3)
  }

  /** Keeps a fingerprint; and its text, if the one before was the same. Returns the upper half. */
  #keep(text: string, end: number, lo: number, hi: number): number {
    if (hi === this.#hi && lo === this.lo) {
      this.#hot = text
      this.#hotEnd = end
      this.#hotHi = hi
      this.#hotLo = lo
    }
    this.lo = lo
    this.#hi = hi
    return hi
  }
}
