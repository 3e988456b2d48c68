// Lines of JSON with a checksum as the last member. The checksum reveals a line that is incomplete or damaged.

import { crc32 } from 'node:zlib'

/** Length of `,"sum":"0123abcd"}`. */
const SEAL_LENGTH = 18

const NEWLINE = 0x0a

/** A run of zeros, as a power cut leaves it. JSON contains none, and a single damaged byte cannot produce it. */
const HOLE = Buffer.alloc(16)

/** Writes an object with at least one member as a line with a checksum. */
export function sealLine(value: object): string {
  const body = JSON.stringify(value).slice(0, -1)
  return `${body},"sum":"${sumOf(Buffer.from(body, 'utf8'))}"}\n`
}

export interface ReadLines {
  readonly values: readonly Record<string, unknown>[]
  /** Number of bytes with valid lines. */
  readonly goodBytes: number
  /**
   * True if the first invalid line was complete once: the file is damaged. False if the end of the file is torn: the process ended
   * while writing it.
   */
  readonly isDamaged: boolean
  /** Number of the first invalid line; 0 if there is none. */
  readonly badLine: number
}

/** Reads lines up to the first invalid one. */
export function readLines(bytes: Buffer): ReadLines {
  const values: Record<string, unknown>[] = []
  let goodBytes = 0
  for (let at = 0, line = 1; at < bytes.length; line++) {
    const end = bytes.indexOf(NEWLINE, at)
    const value = end < 0 ? undefined : openLine(bytes.subarray(at, end))
    if (value === undefined) return { values, goodBytes, badLine: line, isDamaged: !isTorn(bytes, at, end) }
    values.push(value)
    at = end + 1
    goodBytes = at
  }
  return { values, goodBytes, badLine: 0, isDamaged: false }
}

/**
 * A line is written in one piece. A torn line is a part of it: it has no newline, or a power cut left a hole of zeros in it. A line
 * with a newline and without a hole was complete, so its change may have been acknowledged.
 */
function isTorn(bytes: Buffer, start: number, end: number): boolean {
  if (end >= 0) return bytes.subarray(start, end).includes(HOLE) && !hasGoodLine(bytes, end + 1)
  // A valid line plus one byte: only its newline is damaged.
  return openLine(bytes.subarray(start, bytes.length - 1)) === undefined
}

function hasGoodLine(bytes: Buffer, from: number): boolean {
  for (let at = from; at < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, at)
    if (end < 0) return false
    if (openLine(bytes.subarray(at, end)) !== undefined) return true
    at = end + 1
  }
  return false
}

function openLine(line: Buffer): Record<string, unknown> | undefined {
  const body = line.subarray(0, -SEAL_LENGTH)
  if (line.length <= SEAL_LENGTH || line.toString('latin1', body.length) !== `,"sum":"${sumOf(body)}"}`) return undefined
  const { sum: _, ...value } = JSON.parse(line.toString('utf8'))
  return value
}

function sumOf(body: Buffer): string {
  return crc32(body).toString(16).padStart(8, '0')
}
