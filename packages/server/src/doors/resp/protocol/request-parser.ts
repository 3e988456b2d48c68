// Finds the commands in the bytes of a connection. Arguments stay where they are: the parser keeps their places, and makes no text of them.
// Invariant: the bytes of a command are read in the same way, wherever they are cut. Nothing beyond the bounds of limits.ts is waited for.

import { LONGEST_ARGUMENT, LONGEST_COMMAND, LONGEST_LINE, MOST_ARGUMENTS } from '../limits.ts'
import { Arguments } from './arguments.ts'
import { splitLine } from './line.ts'
import { wholeNumber } from './whole-number.ts'

/** Results of `read` besides an index. */
export const INCOMPLETE = -1
export const BROKEN = -2

const NOWHERE = -1

const STAR = 0x2a
const DOLLAR = 0x24
const CR = 0x0d
const LF = 0x0a
const ZERO = 0x30

/** Maximum length of the number in a header. */
const LONGEST_NUMBER = 20

export class RequestParser extends Arguments {
  /** Maximum length of the next command. */
  longestCommand: number = LONGEST_COMMAND
  /** After BROKEN: the problem, in the words of Redis. */
  problem = ''
  /** After INCOMPLETE: the index that the bytes have to reach before it is worth reading again. */
  neededEnd = 0
  /** The number of the last header. */
  #number = 0
  /** A command that was read whole: its start, the ends of its arguments 0 and 1, and its end. Commands of a pipeline are compared with it. */
  #modelStart = 0
  #modelName = 0
  #modelKey = 0
  #modelEnd = 0
  /** Index after the last command, if it can be repeated. */
  #repeatAt = NOWHERE
  /** The bytes that are read. */
  #view: DataView = new DataView(new ArrayBuffer(0))

  /** Begins to read other bytes. */
  begin(bytes: Buffer): void {
    this.#repeatAt = NOWHERE
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  /** Reads the command at `at`. Returns the index after it; or INCOMPLETE, or BROKEN. */
  read(bytes: Buffer, at: number, end: number): number {
    this.isRepeat = false
    if (at === this.#repeatAt) {
      const next = this.#readRepeat(bytes, at, end)
      if (next !== NOWHERE) return next
    }
    this.#repeatAt = NOWHERE
    if (bytes[at] !== STAR) return this.#readLine(bytes, at, end)
    const next = this.#readArray(bytes, at, end)
    if (next < 0 || this.count < 2) return next
    this.#modelStart = at
    this.#modelName = this.ends[0]
    this.#modelKey = this.ends[1]
    this.#modelEnd = next
    this.#repeatAt = next
    return next
  }

  /**
   * Reads a command that has the bytes of the model, except argument 1. Its other arguments are those of the model, so their places stay.
   * Returns the index after it, or NOWHERE for any other command.
   */
  #readRepeat(bytes: Buffer, at: number, end: number): number {
    const place = at + this.#modelName - this.#modelStart
    if (place > end || !this.#areEqual(this.#modelStart, this.#modelName, at)) return NOWHERE
    if (place + 3 > end || bytes[place] !== CR || bytes[place + 1] !== LF || bytes[place + 2] !== DOLLAR) return NOWHERE
    const start = this.#readHeader(bytes, place + 3, end)
    if (start < 0 || this.#number < 0 || this.#number > LONGEST_ARGUMENT) return NOWHERE
    const stop = start + this.#number
    const next = stop + this.#modelEnd - this.#modelKey
    if (next > end || next - at > this.longestCommand) return NOWHERE
    if (!this.#areEqual(this.#modelKey, this.#modelEnd, stop)) return NOWHERE
    this.starts[1] = start
    this.ends[1] = stop
    this.isRepeat = true
    this.#repeatAt = next
    return next
  }

  /** True if the bytes from `start` to `end` are also at `other`. Compares four at a time. */
  #areEqual(start: number, end: number, other: number): boolean {
    const view = this.#view
    let i = start
    let place = other
    for (; i + 4 <= end; i += 4, place += 4) if (view.getInt32(i) !== view.getInt32(place)) return false
    for (; i < end; i++, place++) if (view.getUint8(i) !== view.getUint8(place)) return false
    return true
  }

  #readArray(bytes: Buffer, at: number, end: number): number {
    let next = this.#readHeader(bytes, at + 1, end)
    if (next < 0) return next === INCOMPLETE ? INCOMPLETE : this.#broken('invalid multibulk length')
    const count = this.#number
    if (count > MOST_ARGUMENTS) return this.#broken('invalid multibulk length')
    for (let i = 0; i < count; i++) {
      if (next >= end) return this.#incomplete(end + 1)
      if (bytes[next] !== DOLLAR) return this.#broken(`expected '$', got '${printable(bytes[next])}'`)
      const start = this.#readHeader(bytes, next + 1, end)
      if (start < 0) return start === INCOMPLETE ? INCOMPLETE : this.#broken('invalid bulk length')
      const length = this.#number
      if (length < 0 || length > LONGEST_ARGUMENT) return this.#broken('invalid bulk length')
      const stop = start + length
      if (stop + 2 - at > this.longestCommand) return this.#broken('too big command')
      if (stop + 2 > end) return this.#incomplete(stop + 2)
      if (bytes[stop] !== CR || bytes[stop + 1] !== LF) return this.#broken('expected CRLF after an argument')
      this.starts[i] = start
      this.ends[i] = stop
      next = stop + 2
    }
    this.bytes = bytes
    this.count = Math.max(0, count)
    return next
  }

  /** Reads a number and the end of its line. Returns the index after it; or INCOMPLETE, or BROKEN. */
  #readHeader(bytes: Buffer, start: number, end: number): number {
    // The most frequent header: one digit.
    if (start + 2 < end && bytes[start + 1] === CR && bytes[start + 2] === LF) {
      const digit = bytes[start] - ZERO
      if (digit >= 0 && digit <= 9) {
        this.#number = digit
        return start + 3
      }
    }
    const most = Math.min(end, start + LONGEST_NUMBER)
    let stop = start
    while (stop < most && bytes[stop] !== CR) stop += 1
    if (stop === start + LONGEST_NUMBER) return BROKEN
    if (stop + 1 >= end) return this.#incomplete(end + 1)
    if (bytes[stop + 1] !== LF) return BROKEN
    this.#number = wholeNumber(bytes, start, stop)
    return Number.isFinite(this.#number) ? stop + 2 : BROKEN
  }

  /** Reads a command that is written as a line, as people and simple tools do. */
  #readLine(bytes: Buffer, at: number, end: number): number {
    const found = bytes.indexOf(LF, at)
    const length = (found < 0 || found >= end ? end : found) - at
    if (length > LONGEST_LINE) return this.#broken('too big inline request')
    if (found < 0 || found >= end) return this.#incomplete(end + 1)
    const stop = found > at && bytes[found - 1] === CR ? found - 1 : found
    const words = splitLine(bytes.subarray(at, stop))
    if (words === undefined) return this.#broken('unbalanced quotes in request')
    if (words.length > MOST_ARGUMENTS) return this.#broken('too big inline request')
    this.#keep(words)
    return found + 1
  }

  #keep(words: readonly Buffer[]): void {
    this.bytes = Buffer.concat(words)
    this.count = words.length
    let at = 0
    for (const [i, word] of words.entries()) {
      this.starts[i] = at
      at += word.length
      this.ends[i] = at
    }
  }

  #incomplete(neededEnd: number): number {
    this.neededEnd = neededEnd
    return INCOMPLETE
  }

  #broken(problem: string): number {
    this.problem = problem
    return BROKEN
  }
}

function printable(byte: number): string {
  return byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '?'
}
