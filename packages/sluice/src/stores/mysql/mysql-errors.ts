// Sorts the errors of MySQL, MariaDB and mysql2 by their numbers.

import type { StoreErrorKind } from '../../engines/store-errors.ts'

/** ER_CANT_CHANGE_TX_CHARACTERISTICS: a transaction is open on the connection, which is not the store's. */
const FOREIGN_TRANSACTION = 1568

/** ER_NO_SUCH_TABLE */
const MISSING_TABLE = 1146

/** ER_PARSE_ERROR */
const PARSE_ERROR = 1064

/** The server rolled the transaction back, or a row that did not exist has been made by somebody else. Nothing was written. */
const CONFLICTS: readonly unknown[] = [
  1062, // ER_DUP_ENTRY
  1213, // ER_LOCK_DEADLOCK, also of a Galera cluster at COMMIT
]

/** The server does not take writes. A pool should connect anew, because another server may have become the primary. */
const READ_ONLY: readonly unknown[] = [
  1290, // ER_OPTION_PREVENTS_STATEMENT: --read-only
  1792, // ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
  1836, // ER_READ_ONLY_MODE
]

/** Statements that were not executed, and may be in a moment. */
const REFUSED: readonly unknown[] = [
  ...CONFLICTS,
  ...READ_ONLY,
  1020, // ER_CHECKREAD
  1021, // ER_DISK_FULL
  1037, // ER_OUTOFMEMORY
  1038, // ER_OUT_OF_SORTMEMORY
  1040, // ER_CON_COUNT_ERROR
  1041, // ER_OUT_OF_RESOURCES
  1047, // a node of a Galera cluster that is not ready
  1114, // ER_RECORD_FILE_FULL
  1203, // ER_TOO_MANY_USER_CONNECTIONS
  1205, // ER_LOCK_WAIT_TIMEOUT
  1206, // ER_LOCK_TABLE_FULL
  1226, // ER_USER_LIMIT_REACHED
  1412, // ER_TABLE_DEF_CHANGED
  FOREIGN_TRANSACTION,
]

/** Errors about the set-up. Repeating the statement does not help. */
const FATAL: readonly unknown[] = [
  1044, // ER_DBACCESS_DENIED_ERROR
  1045, // ER_ACCESS_DENIED_ERROR
  1046, // ER_NO_DB_ERROR
  1049, // ER_BAD_DB_ERROR
  1054, // ER_BAD_FIELD_ERROR
  PARSE_ERROR,
  1142, // ER_TABLEACCESS_DENIED_ERROR
  MISSING_TABLE,
  1153, // ER_NET_PACKET_TOO_LARGE
  1227, // ER_SPECIFIC_ACCESS_DENIED_ERROR
  1286, // ER_UNKNOWN_STORAGE_ENGINE
  1406, // ER_DATA_TOO_LONG
  1665, // ER_BINLOG_STMT_MODE_AND_ROW_ENGINE: binlog_format is STATEMENT
]

/** Sorts an error of mysql2. Returns undefined if the number says nothing about what was written. */
export function mysqlErrorKind(error: unknown): StoreErrorKind | undefined {
  const errno = errnoOf(error)
  if (REFUSED.includes(errno)) return 'refused'
  return FATAL.includes(errno) ? 'fatal' : undefined
}

/** True if the transaction certainly changed nothing and may be run again. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.includes(errnoOf(error))
}

/** True if the server could not read a statement. */
export function isParseError(error: unknown): boolean {
  return errnoOf(error) === PARSE_ERROR
}

export function isMissingTable(error: unknown): boolean {
  return errnoOf(error) === MISSING_TABLE
}

/** True if the connection is inside a transaction of the application. */
export function isForeignTransaction(error: unknown): boolean {
  return errnoOf(error) === FOREIGN_TRANSACTION
}

/** True if the connection should not be used again: it is lost, or leads to a server that takes no writes. */
export function isOfConnection(error: unknown): boolean {
  return (error as { readonly fatal?: unknown } | undefined)?.fatal === true || READ_ONLY.includes(errnoOf(error))
}

function errnoOf(error: unknown): unknown {
  return (error as { readonly errno?: unknown } | undefined)?.errno
}
