// Texts of a log by their bytes, so that a text that a log repeats is decoded once. A cache of bounded size: it may forget, and then the
// caller decodes the text again. It lies close together in memory, because a look at a distant place takes longer than the hash.
// Invariant: a text is returned only for exactly the bytes that it was added for, until the next `add`. A lookup compares at most MOST_PROBES texts, even if
// somebody writes texts into the log whose hashes collide.

import { areEqual, type LogBytes, logBytes } from './log-bytes.ts'

/** The longest text that is kept, in bytes. */
export const LONGEST_KEPT = 512

const MOST_PROBES = 8
const FIRST_SLOTS = 1024

/** Slots for each text, at least. */
const SPARSE = 3

/** Words of a slot: the hash, the place and the length of the bytes, and the number of the text, which is 0 in an empty slot. */
const WORDS_BITS = 2
const HASH = 0
const START = 1
const LENGTH = 2
const NUMBER = 3

/** Bytes of texts for each text of the maximum. Addresses of clients and requests are usually shorter. */
const BYTES_A_TEXT = 64
const FIRST_BYTES = 4 * LONGEST_KEPT

/** The tag of a text that the receiver of a log has not tagged yet. */
export const NO_TAG = -1

/** Factors of the hash: odd numbers with irregular bits. */
const FACTOR = 0x9e3779b1
const FINAL_FACTOR = 0x85ebca6b

/** Number of a text that the cache does not know. */
export const UNKNOWN = 0

export class TextCache {
  readonly #most: number
  #slots = new Int32Array(FIRST_SLOTS << WORDS_BITS)
  #mask = FIRST_SLOTS - 1
  /** Texts by number, from 1 on. Null stands for a missing text. */
  #decoded: (string | null)[] = [null]
  /** The tag of each text. */
  #tags = new Int32Array(FIRST_SLOTS).fill(NO_TAG)
  #bytes = logBytes(Buffer.allocUnsafeSlow(FIRST_BYTES))
  #bytesEnd = 0

  /** Keeps at most `most` texts, in at most `most` × 64 bytes. If there is no space, it forgets all. */
  constructor(most: number) {
    this.#most = most
  }

  /** Number of texts that are kept. */
  get size(): number {
    return this.#decoded.length - 1
  }

  /** Bytes of its arrays. */
  get bytes(): number {
    return this.#bytes.bytes.length + this.#slots.byteLength + this.#tags.byteLength
  }

  /** Returns the number of the text with these bytes; UNKNOWN if there is none. */
  find({ view }: LogBytes, from: number, to: number): number {
    const length = to - from
    if (length > LONGEST_KEPT) return UNKNOWN
    const hash = hashOf(view, from, to)
    const slots = this.#slots
    const mask = this.#mask
    for (let probe = 0; probe < MOST_PROBES; probe++) {
      const slot = ((hash + probe) & mask) << WORDS_BITS
      const number = slots[slot + NUMBER]
      if (number === UNKNOWN) return UNKNOWN
      if (slots[slot + HASH] !== hash || slots[slot + LENGTH] !== length) continue
      if (areEqual(view, from, this.#bytes.view, slots[slot + START], length)) return number
    }
    return UNKNOWN
  }

  text(number: number): string | null {
    return this.#decoded[number]
  }

  /** Returns the tag of a text. NO_TAG if it has none. */
  tag(number: number): number {
    return this.#tags[number]
  }

  setTag(number: number, tag: number): void {
    this.#tags[number] = tag
  }

  /** Adds the text of bytes that are not known. Returns its number; UNKNOWN if it is too long to be kept. */
  add({ bytes, view }: LogBytes, from: number, to: number, text: string | null): number {
    const length = to - from
    if (length > LONGEST_KEPT) return UNKNOWN
    if (this.size >= this.#most || !this.#reserve(length)) this.#forgetAll()
    else if (this.size * SPARSE > this.#mask) this.#grow()
    const start = this.#bytesEnd
    const kept = this.#bytes.bytes
    // Texts are short, so a loop is faster than a call of `copy`.
    for (let i = 0; i < length; i++) kept[start + i] = bytes[from + i]
    this.#bytesEnd = start + length
    const hash = hashOf(view, from, to)
    const slot = this.#slotFor(hash)
    this.#slots[slot + HASH] = hash
    this.#slots[slot + START] = start
    this.#slots[slot + LENGTH] = length
    const number = this.#decoded.push(text) - 1
    this.#slots[slot + NUMBER] = number
    return number
  }

  /** Returns the first empty slot for a hash. If there is none within reach, the first one, whose text is forgotten. */
  #slotFor(hash: number): number {
    for (let probe = 0; probe < MOST_PROBES; probe++) {
      const slot = ((hash + probe) & this.#mask) << WORDS_BITS
      if (this.#slots[slot + NUMBER] === UNKNOWN) return slot
    }
    return (hash & this.#mask) << WORDS_BITS
  }

  /** Makes space for `length` more bytes. Returns false if there is none. */
  #reserve(length: number): boolean {
    const needed = this.#bytesEnd + length
    const { bytes } = this.#bytes
    if (needed <= bytes.length) return true
    const most = Math.max(FIRST_BYTES, this.#most * BYTES_A_TEXT)
    if (needed > most) return false
    const larger = Buffer.allocUnsafeSlow(Math.min(most, bytes.length * 2))
    bytes.copy(larger, 0, 0, this.#bytesEnd)
    this.#bytes = logBytes(larger)
    return true
  }

  #grow(): void {
    const before = this.#slots
    this.#slots = new Int32Array(before.length * 2)
    this.#mask = this.#mask * 2 + 1
    const tags = new Int32Array(this.#tags.length * 2).fill(NO_TAG)
    tags.set(this.#tags)
    this.#tags = tags
    for (let from = 0; from < before.length; from += 1 << WORDS_BITS) {
      if (before[from + NUMBER] === UNKNOWN) continue
      const slot = this.#slotFor(before[from + HASH])
      for (let word = 0; word < 1 << WORDS_BITS; word++) this.#slots[slot + word] = before[from + word]
    }
  }

  #forgetAll(): void {
    this.#slots.fill(0)
    this.#tags.fill(NO_TAG)
    this.#decoded = [null]
    this.#bytesEnd = 0
  }
}

/** Hashes four bytes at a time. The last four may overlap those before. */
function hashOf(view: DataView, from: number, to: number): number {
  let hash = to - from
  const last = to - 4
  if (last < from) {
    for (let at = from; at < to; at++) hash = Math.imul(hash ^ view.getUint8(at), FACTOR)
  } else {
    for (let at = from; at < last; at += 4) {
      hash = Math.imul(hash ^ view.getInt32(at, true), FACTOR)
      hash ^= hash >>> 15
    }
    hash = Math.imul(hash ^ view.getInt32(last, true), FACTOR)
  }
  hash = Math.imul(hash ^ (hash >>> 15), FINAL_FACTOR)
  return hash ^ (hash >>> 13)
}
