// Sorts errors of SQLite. node:sqlite has the number of an error in `errcode`, better-sqlite3 and bun:sqlite have its name in `code`.

import { SluiceError } from '../../core/errors.ts'
import { type StoreErrorKind, sortedError } from '../../engines/store-errors.ts'

const BUSY = 5

/** Kinds of errors that may go away by themselves, by the primary code: its name, and its number. All others are fatal. */
const KINDS: readonly (readonly [name: string, code: number, kind: StoreErrorKind])[] = [
  ['SQLITE_BUSY', BUSY, 'refused'],
  ['SQLITE_LOCKED', 6, 'refused'],
  ['SQLITE_NOMEM', 7, 'refused'],
  ['SQLITE_INTERRUPT', 9, 'refused'],
  ['SQLITE_IOERR', 10, 'refused'],
  ['SQLITE_FULL', 13, 'refused'],
  ['SQLITE_CANTOPEN', 14, 'refused'],
  ['SQLITE_PROTOCOL', 15, 'refused'],
]

/** True if another connection has the lock that the statement needs. */
export function isBusy(error: unknown): boolean {
  return findKind(error)?.[1] === BUSY
}

/**
 * True for SQLITE_ERROR: a statement that cannot run as things are, such as a ROLLBACK without a transaction, or a statement on a table
 * that was dropped.
 */
export function isPlainError(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as CodedError
  return code === 'SQLITE_ERROR' || errcode === 1
}

/** The row with the seed and the number of states was deleted or replaced. The tables must be opened again, as after a drop. */
export class SeedLost extends Error {
  readonly code = 'SQLITE_ERROR'

  constructor() {
    super('the row with the seed of the hashes was deleted or replaced')
  }
}

/** Sorts an error that ended a transaction before its commit. Nothing was counted. */
export function sqliteErrorKind(error: unknown): StoreErrorKind {
  return findKind(error)?.[2] ?? 'fatal'
}

/**
 * Sorts an error of a commit. A transaction that found no space was rolled back. After a failed write or fsync, the transaction may
 * be found in the file if the process ends before the next commit.
 */
export function commitErrorKind(error: unknown): StoreErrorKind {
  const [name, , kind] = findKind(error) ?? []
  return kind === undefined || name === 'SQLITE_IOERR' ? 'unknown' : kind
}

/** Makes a SluiceError of the kind that `sort` returns. A SluiceError stays as it is. */
export function sqliteError(error: unknown, sort: (error: unknown) => StoreErrorKind): SluiceError {
  return error instanceof SluiceError ? error : sortedError(error, sort, 'fatal')
}

interface CodedError {
  readonly code?: unknown
  readonly errcode?: unknown
}

function findKind(error: unknown): (typeof KINDS)[number] | undefined {
  const { code, errcode } = (error ?? {}) as CodedError
  return KINDS.find(
    ([name, number]) =>
      // Extended codes have the primary code in front, or in their lower byte: SQLITE_BUSY_SNAPSHOT is 517.
      (typeof code === 'string' && (code === name || code.startsWith(`${name}_`))) ||
      (typeof errcode === 'number' && errcode % 256 === number),
  )
}
