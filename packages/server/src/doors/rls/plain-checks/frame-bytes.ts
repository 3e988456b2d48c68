// The bytes of a frame that arrives in pieces.
// Invariant: no piece is kept. A piece of one byte can keep 64 kB in memory, which were read from the socket with it.

import { frameLength, PREFIX_BYTES } from '../frame.ts'

/** True if these bytes are one uncompressed message. */
export function isWhole(bytes: Buffer): boolean {
  return bytes.length >= PREFIX_BYTES && bytes[0] === 0 && frameLength(bytes) === bytes.length
}

/** True if these bytes are the beginning of one uncompressed message of at most `mostBytes`, or all of it. */
export function isBeginning(bytes: Buffer, mostBytes: number): boolean {
  if (bytes[0] !== 0) return false
  if (bytes.length < PREFIX_BYTES) return true
  const length = frameLength(bytes)
  return bytes.length <= length && length <= PREFIX_BYTES + mostBytes
}

export class FrameBytes {
  #space: Buffer
  #length: number

  constructor(first: Buffer) {
    this.#space = Buffer.from(first)
    this.#length = first.length
  }

  /** Returns all bytes. They are copied each time that they have doubled, and not with each piece. */
  add(piece: Buffer): Buffer {
    const length = this.#length + piece.length
    if (length > this.#space.length) {
      const space = Buffer.allocUnsafeSlow(2 * length)
      this.#space.copy(space, 0, 0, this.#length)
      this.#space = space
    }
    piece.copy(this.#space, this.#length)
    this.#length = length
    return this.#space.subarray(0, length)
  }
}
