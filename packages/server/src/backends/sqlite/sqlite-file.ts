// Opens files of SQLite: with node:sqlite where Node has it, otherwise with better-sqlite3 if it is installed.

import { closeSync, openSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { messageOf, ServerError } from '../../errors.ts'

/** Time between two looks at the identity of the file, for checks that are made with each hit. */
const LOOK_EVERY_MS = 250

export type SqliteValue = string | number | Uint8Array | null

/** The part of node:sqlite and better-sqlite3 that the service uses. */
export interface SqliteConnection {
  exec(sql: string): unknown
  prepare(sql: string): {
    run(...values: SqliteValue[]): unknown
    get(...values: SqliteValue[]): unknown
    all(...values: SqliteValue[]): readonly unknown[]
  }
  close(): unknown
}

export type MakeConnection = (path: string) => SqliteConnection

/** Finds a driver. Throws ERR_CONFIG if there is none. */
export async function findSqlite(): Promise<MakeConnection> {
  const own = process.getBuiltinModule('node:sqlite') as { DatabaseSync: new (path: string) => SqliteConnection } | undefined
  if (own !== undefined) return (path) => new own.DatabaseSync(path)
  try {
    const { default: Database } = await import('better-sqlite3')
    // Its binary, which may be for another version of Node, is loaded with the first database.
    new Database(':memory:').close()
    return (path) => new Database(path) as SqliteConnection
  } catch (cause) {
    const message = `a store in a SQLite file needs node:sqlite, which Node has from version 22.13 on, or the package better-sqlite3: update Node (this is ${process.version}), or run npm install better-sqlite3`
    throw new ServerError('ERR_CONFIG', message, { cause })
  }
}

/** One file, with several connections of this process. */
export class SqliteFile {
  readonly path: string
  readonly #make: MakeConnection
  readonly #connections: SqliteConnection[] = []
  /** Identifies the file that was opened. */
  #identity = ''
  #isReplaced = false
  #lookedMs = Number.NEGATIVE_INFINITY

  private constructor(path: string, make: MakeConnection) {
    this.path = path
    this.#make = make
  }

  /** Creates the file if needed, so that only its owner can read it. Throws ERR_DATA_WRITE or ERR_CONFIG. */
  static async open(path: string, find: () => Promise<MakeConnection> = findSqlite): Promise<SqliteFile> {
    const file = new SqliteFile(resolve(path), await find())
    file.#use(() => {
      // The files that SQLite creates beside it get the same permissions.
      closeSync(openSync(file.path, 'a', 0o600))
      file.#identity = identityOf(file.path)
    })
    return file
  }

  connect(pragmas: string): SqliteConnection {
    return this.#use(() => {
      const connection = this.#make(this.path)
      this.#connections.push(connection)
      connection.exec(pragmas)
      return connection
    })
  }

  /** Throws if the file was deleted or replaced. What is written to the deleted file is lost, and other instances do not see it. */
  checkIdentity(): void {
    this.#lookedMs = performance.now()
    this.#isReplaced = identityOf(this.path) !== this.#identity
    if (this.#isReplaced) throw new Error('the file was replaced while it was open: restart this instance')
  }

  /** Like `checkIdentity`, but looks at the file only now and then. */
  checkRecentIdentity(): void {
    if (this.#isReplaced || performance.now() - this.#lookedMs >= LOOK_EVERY_MS) this.checkIdentity()
  }

  close(): void {
    for (const connection of this.#connections.splice(0)) connection.close()
  }

  #use<T>(work: () => T): T {
    try {
      return work()
    } catch (cause) {
      this.close()
      throw new ServerError('ERR_DATA_WRITE', `the SQLite file ${this.path} cannot be used: ${messageOf(cause)}`, { cause })
    }
  }
}

function identityOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? '' : `${found.dev} ${found.ino}`
}
