// The arguments of one command, as places in the bytes of a connection. Argument 0 is the name of the command.

import { isUtf8 } from 'node:buffer'
import { ServerError } from '../../../errors.ts'
import { MOST_ARGUMENTS } from '../limits.ts'
import { wholeNumber } from './whole-number.ts'

/** Turns an ASCII letter into its small form. Other signs of command names stay as they are. */
const SMALL = 0x20

/** The part of `toString('latin1', …)` that makes the text. Without the rest a command takes 5 % less time. Node does not document it. */
interface Sliced {
  latin1Slice(start: number, end: number): string
}

export class Arguments {
  /** Number of arguments. 0 if there is nothing to do. */
  count = 0
  /** True if the command before it had the same arguments, except argument 1. */
  isRepeat = false
  /** The bytes that hold the arguments. They are valid until the next command is read. */
  bytes: Buffer = Buffer.alloc(0)
  readonly starts = new Int32Array(MOST_ARGUMENTS)
  readonly ends = new Int32Array(MOST_ARGUMENTS)

  length(index: number): number {
    return this.ends[index] - this.starts[index]
  }

  /** Returns a text with one character for each byte, so that different bytes give different texts. */
  latin1(index: number): string {
    return (this.bytes as Buffer & Sliced).latin1Slice(this.starts[index], this.ends[index])
  }

  /** Returns the text of UTF-8. Throws ERR_INPUT if it is not valid, because invalid texts would become equal. */
  text(index: number): string {
    const { bytes } = this
    const start = this.starts[index]
    const end = this.ends[index]
    let seen = 0
    for (let i = start; i < end; i++) seen |= bytes[i]
    if (seen < 0x80) return bytes.toString('latin1', start, end)
    if (!isUtf8(bytes.subarray(start, end))) throw new ServerError('ERR_INPUT', `argument ${index} is not UTF-8`)
    return bytes.toString('utf8', start, end)
  }

  /** Returns a copy of the bytes. */
  copy(index: number): Buffer {
    return Buffer.from(this.bytes.subarray(this.starts[index], this.ends[index]))
  }

  /** Returns a whole number: NaN if it is not one, and an infinite number if it is too large to be exact. */
  number(index: number): number {
    return wholeNumber(this.bytes, this.starts[index], this.ends[index])
  }

  /** True if the argument is this word of small ASCII letters, in any case. */
  is(index: number, word: Uint8Array): boolean {
    const { bytes } = this
    const start = this.starts[index]
    if (this.ends[index] - start !== word.length) return false
    for (let i = 0; i < word.length; i++) {
      const byte = bytes[start + i]
      if (byte !== word[i] && (byte | SMALL) !== word[i]) return false
    }
    return true
  }
}

/** Returns the bytes of a word for `is`. */
export function word(text: string): Uint8Array {
  return Buffer.from(text.toLowerCase(), 'latin1')
}
