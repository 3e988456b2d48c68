// Splits the bytes of a log into lines, without a copy of each line.
// Invariant: memory is bounded by one chunk and one line. A line that is longer than the maximum is skipped and counted, and the lines
// around it are read.

import { type LogBytes, logBytes } from '../forms/log-bytes.ts'

/** Maximum length of a line in bytes. */
export const LONGEST_LINE = 65_536

const NEW_LINE = 10
const CARRIAGE_RETURN = 13
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** Called for each line: the bytes from `from` to `to`, which may change afterwards. The first line of a file has the number 1. */
export type OnLine = (line: LogBytes, from: number, to: number, number: number) => void

export class LogLines {
  /** Number of lines that were too long. */
  tooLong = 0
  readonly #onLine: OnLine
  /** Bytes after the last line break: the first `#restLength` ones. */
  readonly #rest = logBytes(Buffer.allocUnsafeSlow(LONGEST_LINE))
  #restLength = 0
  /** True if the bytes up to the next line break belong to a line that is too long. */
  #isSkipping = false
  /** Number of the last line that was read. */
  #number = 0

  constructor(onLine: OnLine) {
    this.#onLine = onLine
  }

  /** Reads the next bytes of the file. They may change afterwards. */
  add(chunk: Buffer): void {
    let from = 0
    let end = chunk.indexOf(NEW_LINE)
    if (end >= 0 && (this.#restLength > 0 || this.#isSkipping)) {
      this.#keep(chunk, 0, end)
      this.#endRest()
      from = end + 1
      end = chunk.indexOf(NEW_LINE, from)
    }
    const lines = logBytes(chunk)
    while (end >= 0) {
      this.#readLine(lines, from, end)
      from = end + 1
      end = chunk.indexOf(NEW_LINE, from)
    }
    this.#keep(chunk, from, chunk.length)
  }

  /** Ends the file. Reads a last line that has no line break. */
  end(): void {
    const { bytes } = this.#rest
    const isEmpty = this.#number === 0 && BYTE_ORDER_MARK.equals(bytes.subarray(0, this.#restLength))
    if (!isEmpty && (this.#restLength > 0 || this.#isSkipping)) this.#endRest()
    this.#restLength = 0
    this.#number = 0
  }

  /** Keeps bytes of a line that has not ended. */
  #keep(chunk: Buffer, from: number, to: number): void {
    if (this.#isSkipping) return
    if (this.#restLength + to - from > LONGEST_LINE) {
      this.#isSkipping = true
      this.#restLength = 0
      return
    }
    chunk.copy(this.#rest.bytes, this.#restLength, from, to)
    this.#restLength += to - from
  }

  /** Reads the kept bytes as a line. */
  #endRest(): void {
    if (this.#isSkipping) this.#skipLine()
    else this.#readLine(this.#rest, 0, this.#restLength)
    this.#isSkipping = false
    this.#restLength = 0
  }

  #readLine(line: LogBytes, start: number, end: number): void {
    if (end - start > LONGEST_LINE) return this.#skipLine()
    const { bytes } = line
    const isMarked = this.#number === 0 && bytes.subarray(start, Math.min(start + 3, end)).equals(BYTE_ORDER_MARK)
    const from = isMarked ? start + BYTE_ORDER_MARK.length : start
    const to = end > from && bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end
    this.#number += 1
    this.#onLine(line, from, to, this.#number)
  }

  #skipLine(): void {
    this.#number += 1
    this.tooLong += 1
  }
}
