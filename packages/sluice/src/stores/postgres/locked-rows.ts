// The two texts of a transaction, and the answer between them.

import { decodeCells, encodeCells } from '../../engines/state-codec.ts'
import { storeError } from '../../engines/store-errors.ts'
import type { Change } from '../../engines/working-states.ts'
import type { Row } from './postgres-client.ts'
import type { WriteStatement } from './postgres-statements.ts'

export interface LockOptions {
  readonly isDurable: boolean
  /** The longest wait for the locks of others. */
  readonly lockMs: number
  /** Time after which the server ends a transaction whose client is silent, and frees its locks. */
  readonly idleMs: number
}

/**
 * Locks all rows and reads them.
 *
 * One pass in the order of names locks every row: an absent one by inserting an empty row, an existing one by an update that never
 * happens. So two transactions never wait for each other. The rows are read by a statement of its own, which has a newer snapshot
 * than the locks, and its clock is read after them.
 *
 * Plans of prepared statements are kept. One that was made while the table was small must not walk it when it is large.
 */
export function lockAndRead(names: readonly string[], options: LockOptions, write: WriteStatement): string {
  const { isDurable, lockMs, idleMs } = options
  const settings = [
    `SET LOCAL lock_timeout = ${lockMs}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${idleMs}`,
    `SET LOCAL synchronous_commit = ${isDurable ? 'on' : 'off'}`,
    'SET LOCAL enable_seqscan = off',
    'SET LOCAL extra_float_digits = 1',
  ]
  const statements =
    names.length === 1
      ? [write('lockOne', quoted(names[0])), write('readOne', quoted(names[0]))]
      : [write('lockMany', listOf(names)), write('readMany', listOf(names))]
  return [...settings, ...statements].join(';')
}

/** The rows that `lockAndRead` has locked and read. */
export interface LockedRows {
  readonly nowMs: number
  /** Values of the rows that existed before. */
  readonly values: ReadonlyMap<string, Uint8Array>
}

/** Reads the answer of `lockAndRead`: the time, then each name and value. A value without cells is a row that was inserted as a lock. */
export function readLocked(rows: readonly Row[], names: readonly string[]): LockedRows {
  const text = rows.length === 1 ? Object.values(rows[0])[0] : undefined
  const words = typeof text === 'string' ? text.split(' ') : []
  if (words.length !== 1 + 2 * names.length) throw storeError('fatal', 'Postgres did not return the rows that were locked')
  const values = new Map<string, Uint8Array>()
  for (let i = 1; i < words.length; i += 2) if (words[i + 1] !== '{}') values.set(words[i], bytesOf(words[i + 1]))
  return { nowMs: Number(words[0]), values }
}

export interface Changes {
  readonly names: readonly string[]
  readonly values: LockedRows['values']
  readonly changes: readonly Change[]
}

type Written = Change & { readonly value: Uint8Array }

/** Writes the changes, and deletes the rows that were inserted as locks and not written. Undefined if nothing was changed. */
export function writeChanges({ names, values, changes }: Changes, write: WriteStatement): string | undefined {
  if (changes.length === 0) return undefined
  const written = changes.filter((change): change is Written => change.value !== undefined)
  const kept = new Set(written.map(({ name }) => name))
  const dropped = new Set(changes.map(({ name }) => name))
  const deleted = names.filter((name) => !kept.has(name) && (dropped.has(name) || !values.has(name)))
  const statements: string[] = []
  if (written.length > 0) statements.push(update(written, write))
  if (deleted.length > 0) statements.push(write('deleteMany', listOf(deleted)))
  return statements.join(';')
}

function update(written: readonly Written[], write: WriteStatement): string {
  if (written.length === 1) {
    const [{ name, endsAt }] = written
    return write('updateOne', quoted(name), `'${arrayOf(written[0])}'`, String(endsAt))
  }
  const values = `pg_catalog.string_to_array('${written.map(arrayOf).join(' ')}', ' ')`
  const ends = `'{${written.map(({ endsAt }) => endsAt).join()}}'::pg_catalog.int8[]`
  return write('updateMany', listOf(written.map(({ name }) => name)), values, ends)
}

function listOf(names: readonly string[]): string {
  return `pg_catalog.string_to_array(${quoted(names.join(' '))}, ' ')`
}

/** Names are printable ASCII without spaces. In E'', quotes and backslashes are doubled whatever the settings of the session are. */
export function quoted(text: string): string {
  return `E'${text.replace(/['\\]/g, '$&$&')}'`
}

/** Returns a value as an array for Postgres. */
function arrayOf({ name, value }: Written): string {
  return `{${decodeCells(value, name).join()}}`
}

/** Returns the bytes of a value that Postgres wrote as an array. An element that is no number becomes NaN, which the engine refuses. */
function bytesOf(array: string): Uint8Array {
  return encodeCells(Float64Array.from(array.slice(1, -1).split(','), Number))
}
