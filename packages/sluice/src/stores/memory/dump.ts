// The format of a dump: all states of a memory store as bytes.
// Header, in words: magic, version, checksum of all words after it, number of words, seed (two words).
// Then an entry for each state: fingerprint (two words), pressure, number of cells (negative for a log), cells as doubles. The cells
// of a state with holds are those of `joinHolds`.
// Invariant: a dump that was changed in any way is refused.

import { SluiceError, show } from '../../core/errors.ts'
import { hasHolds, type LoadedHolds, splitHolds } from '../../core/holds.ts'
import { FULL, LOG_HANDLE } from '../../core/rule-log.ts'
import type { StoreHolds } from './held-rows.ts'
import { fingerprintOf, type Rows } from './rows.ts'
import type { Table } from './table.ts'

export interface DumpedState {
  readonly lo: number
  readonly hi: number
  readonly pressure: number
  readonly isLog: boolean
  /** The time from which neither the state nor its holds are needed. */
  readonly endsAt: number
  readonly cells: Float64Array
  readonly holds: LoadedHolds | undefined
}

export interface Dump {
  /** The seed of the keys' fingerprints. */
  readonly seed: Int32Array
  /** Can be iterated several times. */
  readonly states: Iterable<DumpedState>
}

/** "SLUC". It also reveals a dump with another byte order. */
const MAGIC = 0x53_4c_55_43
const VERSION = 4

/** The version before holds. */
const OLDER_VERSION = 3

const HEADER_WORDS = 6
const LENGTH = 3
const SUMMED_FROM = LENGTH
const SEED = 4

/** Number of words before the cells of a state: fingerprint, pressure, width. */
const STATE_WORDS = 4

/** The parts of a memory store that a dump is made of. */
export interface DumpedStore {
  readonly tables: Iterable<Table>
  readonly holds: StoreHolds | undefined
}

export function writeDump(seed: Int32Array, { tables, holds }: DumpedStore, nowMs: number): Uint8Array {
  const all = [...tables]
  const cellsOf = (table: Table, rows: Rows, row: number): Float64Array => {
    const at = rows.at(row)
    const cells =
      table.logs !== undefined ? table.logs.block(rows.cells[at + LOG_HANDLE]) : rows.cells.subarray(at, at + table.width)
    return rows.cells[at] < 0 && holds !== undefined ? holds.join(cells, rows, row) : cells
  }
  let length = HEADER_WORDS
  for (const table of all) {
    eachRow(table, nowMs, (rows, row) => {
      length += STATE_WORDS + 2 * cellsOf(table, rows, row).length
    })
  }
  const words = new Int32Array(length)
  const doubles = new Float64Array(words.buffer)
  words.set(seed, SEED)
  let at = HEADER_WORDS
  for (const table of all) {
    eachRow(table, nowMs, (rows, row, fingerprint) => {
      const cells = cellsOf(table, rows, row)
      words.set(fingerprint, at)
      words[at + 2] = rows.pressure[row]
      words[at + 3] = table.logs !== undefined ? -cells.length : cells.length
      doubles.set(cells, (at + STATE_WORDS) / 2)
      at += STATE_WORDS + 2 * cells.length
    })
  }
  words[LENGTH] = words.length
  words.set([MAGIC, VERSION, checksumOf(words)])
  return new Uint8Array(words.buffer)
}

/** Calls `visit` with every row of a table that has not expired, and the two halves of its fingerprint. */
export function eachRow(table: Table, nowMs: number, visit: (rows: Rows, row: number, fingerprint: Int32Array) => void): void {
  table.finishMove(nowMs)
  const { rows } = table
  for (let row = 0; row < rows.length; row++) {
    if (rows.isTaken(row) && !table.isExpired(rows, row, nowMs)) visit(rows, row, fingerprintOf(rows, row))
  }
}

/** Reads a dump. Throws ERR_DUMP unless the bytes are an undamaged dump of this version. */
export function readDump(bytes: unknown): Dump {
  if (!(bytes instanceof Uint8Array))
    throw new SluiceError('ERR_OPTION', `restoreStore takes the bytes of dumpStore(), got ${show(bytes)}`, {
      option: 'dump',
      value: bytes,
    })
  if (bytes.length < HEADER_WORDS * 4 || bytes.length % 8 !== 0) throw refused(`it has ${bytes.length} bytes`)
  // The bytes are copied, because they may be an unaligned piece of a larger buffer.
  const words = new Int32Array(new Uint8Array(bytes).buffer)
  if (words[0] !== MAGIC) throw refused('it does not begin as one')
  if (words[1] !== VERSION && words[1] !== OLDER_VERSION) throw refused(`it is of version ${words[1]}, and this is ${VERSION}`)
  if (words[LENGTH] !== words.length || words[2] !== checksumOf(words)) throw refused('its checksum is another')
  checkStates(words)
  return { seed: words.slice(SEED, SEED + 2), states: { [Symbol.iterator]: () => statesIn(words) } }
}

/**
 * Yields the states that have not ended; if there are more than `most`, those with the highest pressure. Of states with the least of
 * these pressures it yields some, evenly spread. In a table, they would otherwise all be in one part.
 */
export function* mostPressing(states: Iterable<DumpedState>, most: number, nowMs: number): Generator<DumpedState> {
  const counts = new Float64Array(256)
  for (const { endsAt, pressure } of states) if (endsAt > nowMs) counts[pressure] += 1
  let least = 255
  let left = most
  for (; least > 0 && left >= counts[least]; least--) left -= counts[least]
  let seen = 0
  let yielded = 0
  for (const state of states) {
    if (state.endsAt <= nowMs || state.pressure < least) continue
    if (state.pressure === least) {
      seen += 1
      if (Math.floor((seen * left) / counts[least]) <= yielded) continue
      yielded += 1
    }
    yield state
  }
}

function* statesIn(words: Int32Array): Generator<DumpedState> {
  const doubles = new Float64Array(words.buffer)
  for (let at = HEADER_WORDS; at < words.length; ) {
    const width = Math.abs(words[at + 3])
    const from = (at + STATE_WORDS) / 2
    const dumped = doubles.subarray(from, from + width)
    const { cells, holds } = parted(dumped)
    yield { lo: words[at], hi: words[at + 1], pressure: words[at + 2], isLog: words[at + 3] < 0, endsAt: dumped[0], cells, holds }
    at += STATE_WORDS + 2 * width
  }
}

/** Returns the cells of a state and its holds, if it has any. */
function parted(cells: Float64Array): Pick<DumpedState, 'cells' | 'holds'> {
  if (!hasHolds(cells)) return { cells, holds: undefined }
  const parts = splitHolds(cells)
  if (parts === undefined) throw refused('a state in it has holds that are none')
  return parts
}

/** Returns the CRC-32 (IEEE 802.3) of the words. It detects every change of up to three bits, and of any bits within one word. */
function checksumOf(words: Int32Array): number {
  const [low, second, third, high] = CRC_TABLES
  let crc = -1
  for (let i = SUMMED_FROM; i < words.length; i++) {
    const word = crc ^ words[i]
    crc = high[word & 255] ^ third[(word >>> 8) & 255] ^ second[(word >>> 16) & 255] ^ low[word >>> 24]
  }
  return ~crc
}

/** Tables for one word at a time. The n-th table has the remainder of each byte followed by n zero bytes. */
const CRC_TABLES = /* @__PURE__ */ crcTables()

function crcTables(): readonly Int32Array[] {
  const POLYNOMIAL = 0xedb88320
  const tables = Array.from({ length: 4 }, () => new Int32Array(256))
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? POLYNOMIAL : 0)
    tables[0][byte] = crc
  }
  for (let n = 1; n < 4; n++) {
    for (let byte = 0; byte < 256; byte++) {
      const before = tables[n - 1][byte]
      tables[n][byte] = (before >>> 8) ^ tables[0][before & 255]
    }
  }
  return tables
}

/** Throws ERR_DUMP unless each state is complete, with a fingerprint and a valid pressure. */
function checkStates(words: Int32Array): void {
  let at = HEADER_WORDS
  while (at < words.length) {
    const width = Math.abs(words[at + 3])
    const isState = (words[at] | words[at + 1]) !== 0 && words[at + 2] >= 0 && words[at + 2] <= FULL && width >= 1
    if (!isState || at + STATE_WORDS + 2 * width > words.length) throw refused('a state in it is not one')
    parted(new Float64Array(words.buffer, (at + STATE_WORDS) * 4, width))
    at += STATE_WORDS + 2 * width
  }
}

function refused(why: string): SluiceError {
  return new SluiceError('ERR_DUMP', `the dump cannot be restored: ${why}`)
}
