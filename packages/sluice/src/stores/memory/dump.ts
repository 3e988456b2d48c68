// All states of a memory store as bytes, for another process to go on from.
// A header of words: magic, version, two sums of all words after them, the two secrets of two words each. Then one entry for
// each state: its fingerprint (two words), its pressure, how many cells it has (negative for a log), and the cells as doubles.
// What must stay true: bytes that are not exactly what was written are refused.

import { SluiceError, show } from '../../core/errors.ts'
import type { LogArena } from './log-arena.ts'
import type { Rows } from './rows.ts'
import { LOG_HANDLE, type Table } from './table.ts'

/** What fingerprints of keys and of rules are made with. */
export interface Seeds {
  readonly keys: Int32Array
  readonly rules: Int32Array
}

export interface DumpedState {
  readonly lo: number
  readonly hi: number
  readonly pressure: number
  readonly isLog: boolean
  readonly cells: Float64Array
}

export interface Dump {
  readonly seeds: Seeds
  /** Can be gone through again and again. */
  readonly states: Iterable<DumpedState>
}

/** "SLUC", which also tells whether the bytes of a word are in this machine's order. */
const MAGIC = 0x53_4c_55_43
const VERSION = 1

const HEADER_WORDS = 8
const SUMMED_FROM = 4
const KEYS_SEED = 4
const RULES_SEED = 6

/** Words before the cells of a state: fingerprint, pressure, width. */
const STATE_WORDS = 4

export function writeDump(seeds: Seeds, tables: Iterable<Table>, logs: LogArena, nowMs: number): Uint8Array {
  const all = [...tables]
  const cellsOf = (table: Table, rows: Rows, row: number): Float64Array => {
    const at = rows.at(row)
    return table.holdsLogs ? logs.block(rows.cells[at + LOG_HANDLE]) : rows.cells.subarray(at, at + table.width)
  }
  let length = HEADER_WORDS
  for (const table of all) {
    table.each(nowMs, (rows, row) => {
      length += STATE_WORDS + 2 * cellsOf(table, rows, row).length
    })
  }
  const words = new Int32Array(length)
  const doubles = new Float64Array(words.buffer)
  words.set(seeds.keys, KEYS_SEED)
  words.set(seeds.rules, RULES_SEED)
  let at = HEADER_WORDS
  for (const table of all) {
    table.each(nowMs, (rows, row) => {
      const cells = cellsOf(table, rows, row)
      words[at] = rows.lo(row)
      words[at + 1] = rows.hi(row)
      words[at + 2] = rows.pressure[row]
      words[at + 3] = table.holdsLogs ? -cells.length : cells.length
      doubles.set(cells, (at + STATE_WORDS) / 2)
      at += STATE_WORDS + 2 * cells.length
    })
  }
  words.set([MAGIC, VERSION, ...sumsOf(words)])
  return new Uint8Array(words.buffer)
}

/** Throws ERR_DUMP unless the bytes are a whole dump of this version. */
export function readDump(bytes: unknown): Dump {
  if (!(bytes instanceof Uint8Array)) throw new SluiceError('ERR_OPTION', `restore takes what dump() makes, got ${show(bytes)}`)
  if (bytes.length < HEADER_WORDS * 4 || bytes.length % 8 !== 0) throw refused(`it has ${bytes.length} bytes`)
  // A copy of its own: the bytes may be a part of something larger, and begin anywhere.
  const words = new Int32Array(bytes.slice().buffer)
  if (words[0] !== MAGIC) throw refused('it does not begin as one')
  if (words[1] !== VERSION) throw refused(`it is of version ${words[1]}, and this is ${VERSION}`)
  const [first, second] = sumsOf(words)
  if (words[2] !== first || words[3] !== second) throw refused('its checksum is another')
  const seeds = { keys: words.slice(KEYS_SEED, KEYS_SEED + 2), rules: words.slice(RULES_SEED, RULES_SEED + 2) }
  return { seeds, states: { [Symbol.iterator]: () => statesIn(words) } }
}

function* statesIn(words: Int32Array): Generator<DumpedState> {
  const doubles = new Float64Array(words.buffer)
  for (let at = HEADER_WORDS; at < words.length; ) {
    const width = Math.abs(words[at + 3])
    const from = (at + STATE_WORDS) / 2
    const cells = doubles.subarray(from, from + width)
    yield { lo: words[at], hi: words[at + 1], pressure: words[at + 2], isLog: words[at + 3] < 0, cells }
    at += STATE_WORDS + 2 * width
  }
}

/** The sum of the words, and the sum of the sums on the way, which knows their order. */
function sumsOf(words: Int32Array): readonly [number, number] {
  let sum = 0
  let sums = words.length
  for (let i = SUMMED_FROM; i < words.length; i++) {
    sum = (sum + words[i]) | 0
    sums = (sums + sum) | 0
  }
  return [sum, sums | 0]
}

function refused(why: string): SluiceError {
  return new SluiceError('ERR_DUMP', `the dump cannot be restored: ${why}`)
}
