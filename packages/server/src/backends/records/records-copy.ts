// A local copy of the records in a database, in the data folder. An instance starts with it while the database does not answer, and
// uses it to detect whether the database has lost something.
// Invariant: the copy is used only if it is complete and belongs to this database. It is replaced only by records that include it. A
// copy of another database, or one that cannot be read, is moved aside first. One of a newer version is not touched.

import { mkdir, readFile, rename } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { messageOf, ServerError } from '../../errors.ts'
import { readLines, sealLine } from '../../files/checked-lines.ts'
import { refuseNewer } from '../../files/file-version.ts'
import { FolderLock } from '../../files/folder-lock.ts'
import { replaceFile } from '../../files/replace-file.ts'
import type { Change } from '../../records.ts'
import { KINDS, type KnownRecords, type Marks, type Position } from './found-records.ts'
import type { CopiedRecords } from './local-records.ts'

/** The file for the copy of records in a kind of database, such as `redis`. */
export function copyFileOf(kind: string): string {
  return `${kind}-copy.jsonl`
}

/** Name for a copy that is moved aside. Only the latest such copy is kept. */
function asideFileOf(kind: string): string {
  return `${kind}-copy.aside.jsonl`
}

/** Version 1 had neither position nor marks. */
const VERSION = 2

/** Delay between a change and writing the copy. Changes in between are written together. */
const WRITE_AFTER_MS = 5000

/** Lines that are written at a time. Checks run in between. */
const LINES_A_CHUNK = 500

/** Position of a copy of version 1, which has none. Any database with at least one change is accepted as newer. */
const UNKNOWN_POSITION: Position = { last: 1, mark: '', origin: '' }

interface Head {
  readonly version: number
  readonly of: string
  readonly count: number
  readonly position?: Position
  readonly marks?: readonly (readonly [string, number])[]
}

export interface RecordsCopyOptions {
  readonly folder: string
  /** The kind of the database that is copied, for the name of the file. */
  readonly kind: string
  /** Identifies the database: its address without passwords. */
  readonly source: string
  readonly onError: (error: ServerError) => void
}

export class RecordsCopy {
  readonly #options: RecordsCopyOptions
  readonly #folder: string
  readonly #path: string
  readonly #lock: FolderLock
  /** True if the file may be replaced: it is ours, or there is none. */
  #isOurs = false
  #timer: NodeJS.Timeout | undefined
  #written: Promise<void> = Promise.resolve()

  private constructor(folder: string, lock: FolderLock, options: RecordsCopyOptions) {
    this.#folder = folder
    this.#path = join(folder, copyFileOf(options.kind))
    this.#lock = lock
    this.#options = options
  }

  /** Returns the records of the copy, or undefined if they cannot be used. Needs no lock, since the file is replaced as a whole. */
  static async read({ folder, kind, source, onError }: RecordsCopyOptions): Promise<CopiedRecords | undefined> {
    const path = join(resolve(folder), copyFileOf(kind))
    try {
      return copiedFrom(await readCopy(path), source)
    } catch (error) {
      onError(asServerError(error, `${path} cannot be read`))
      return undefined
    }
  }

  /** Locks the folder for writing. If that fails, calls `onError` and returns undefined; the service then runs without a copy. */
  static async open(options: RecordsCopyOptions): Promise<RecordsCopy | undefined> {
    const folder = resolve(options.folder)
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      return new RecordsCopy(folder, await FolderLock.acquire(folder), options)
    } catch (error) {
      options.onError(asServerError(error, `${folder} cannot be used`))
      return undefined
    }
  }

  /** Schedules writing the copy. */
  changed(known: () => KnownRecords | undefined): void {
    this.#timer ??= setTimeout(() => this.#write(known()), WRITE_AFTER_MS).unref()
  }

  /** Writes a scheduled copy and unlocks the folder. */
  async close(known: () => KnownRecords | undefined): Promise<void> {
    if (this.#timer !== undefined) this.#write(known())
    await this.#written
    await this.#lock.release()
  }

  #write(known: KnownRecords | undefined): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (known === undefined) return
    this.#written = this.#written
      .then(async () => {
        await this.#makeWay()
        await replaceFile(this.#path, this.#chunks(known))
      })
      .catch((error: unknown) => this.#options.onError(asServerError(error, `${this.#path} cannot be written`)))
  }

  async #makeWay(): Promise<void> {
    if (this.#isOurs) return
    const found = await readCopy(this.#path)
    if (found !== 'none' && copiedFrom(found, this.#options.source) === undefined) {
      await rename(this.#path, join(this.#folder, asideFileOf(this.#options.kind)))
    }
    this.#isOurs = true
  }

  *#chunks({ tables, position, marks }: KnownRecords): Generator<Uint8Array> {
    const records = KINDS.flatMap((kind) => [...tables[kind]].map(([id, value]) => ({ kind, id, value })))
    const head: Head = { version: VERSION, of: this.#options.source, count: records.length, position, marks: [...marks] }
    yield Buffer.from(sealLine(head))
    for (let at = 0; at < records.length; at += LINES_A_CHUNK) {
      yield Buffer.from(
        records
          .slice(at, at + LINES_A_CHUNK)
          .map(sealLine)
          .join(''),
      )
    }
  }
}

type Copied = { readonly head: Head; readonly records: readonly Change[] }

/** Throws ERR_DATA_VERSION for a copy of a newer version. */
async function readCopy(path: string): Promise<Copied | 'none' | 'damaged'> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'none'
    throw error
  }
  const { values, badLine } = readLines(bytes)
  const [head, ...records] = values as unknown as [Head | undefined, ...Change[]]
  if (head !== undefined) refuseNewer(path, head.version, VERSION)
  const isWhole = badLine === 0 && head?.count === records.length && records.every(({ kind }) => KINDS.includes(kind))
  return head !== undefined && isWhole ? { head, records } : 'damaged'
}

function copiedFrom(found: Awaited<ReturnType<typeof readCopy>>, of: string): CopiedRecords | undefined {
  if (typeof found === 'string' || found.head.of !== of) return undefined
  const { position = UNKNOWN_POSITION, marks = [] } = found.head
  return { records: found.records, position, marks: new Map(marks) satisfies Marks }
}

function asServerError(error: unknown, what: string): ServerError {
  if (error instanceof ServerError) return error
  return new ServerError('ERR_DATA_WRITE', `${what}: ${messageOf(error)}`, { cause: error })
}
