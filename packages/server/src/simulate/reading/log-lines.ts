// Splits the bytes of a log into lines, without a copy of each line.
// Invariant: memory is bounded by one chunk and one line. A line that is longer than the maximum is skipped and counted, and the lines
// around it are read.

import { isAscii } from 'node:buffer'

/** Maximum length of a line in bytes. */
export const LONGEST_LINE = 65_536

const NEW_LINE = 10
const CARRIAGE_RETURN = 13
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** Called for each line: `text` from `from` to `to`. `text` has many lines. The first line of a file has the number 1. */
export type OnLine = (text: string, from: number, to: number, number: number) => void

export class LogLines {
  /** Number of lines that were too long. */
  tooLong = 0
  readonly #onLine: OnLine
  /** Bytes after the last line break. */
  #rest: Buffer = Buffer.alloc(0)
  /** True if the bytes up to the next line break belong to a line that is too long. */
  #isSkipping = false
  /** Number of the last line that was read. */
  #number = 0
  #isStart = true

  constructor(onLine: OnLine) {
    this.#onLine = onLine
  }

  /** Reads the next bytes of the file. */
  add(chunk: Buffer): void {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    if (this.#isStart && bytes.length >= BYTE_ORDER_MARK.length) {
      this.#isStart = false
      if (bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) bytes = bytes.subarray(BYTE_ORDER_MARK.length)
    }
    const end = bytes.lastIndexOf(NEW_LINE) + 1
    if (end > 0) this.#readLines(bytes.subarray(0, end))
    const rest = bytes.subarray(end)
    if (rest.length <= LONGEST_LINE) {
      // A copy, so that the rest does not keep the whole chunk.
      this.#rest = Buffer.from(rest)
      return
    }
    this.#isSkipping = true
    this.#rest = Buffer.alloc(0)
  }

  /** Ends the file. Reads a last line that has no line break. */
  end(): void {
    if (this.#rest.length > 0 || this.#isSkipping) this.#readLines(Buffer.concat([this.#rest, Buffer.from([NEW_LINE])]))
    this.#rest = Buffer.alloc(0)
    this.#number = 0
    this.#isStart = true
  }

  /** Reads whole lines. The last byte is a line break. */
  #readLines(bytes: Buffer): void {
    // Node decodes Latin-1 much faster than UTF-8, and for ASCII they are the same.
    const text = bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8')
    let from = 0
    while (from < text.length) {
      const end = text.indexOf('\n', from)
      this.#number += 1
      const to = end > from && text.charCodeAt(end - 1) === CARRIAGE_RETURN ? end - 1 : end
      if (this.#isSkipping || end - from > LONGEST_LINE) {
        this.#isSkipping = false
        this.tooLong += 1
      } else {
        this.#onLine(text, from, to, this.#number)
      }
      from = end + 1
    }
  }
}
