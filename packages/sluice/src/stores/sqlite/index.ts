// The door `sluice/sqlite`.

export type { SqliteDatabase, SqliteStatement, SqliteValue } from './sqlite-database.ts'
export { type SqliteStore, type SqliteStoreOptions, sqliteStore } from './sqlite-store.ts'
