// A copy of the policies and keys that are in Redis, in the data folder: what an instance starts with while Redis does not answer.
// What must stay true: Redis rules. The copy is used only until Redis has been read, and only if it is whole and of that Redis.

import { mkdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { readLines, sealLine } from '../data/checked-lines.ts'
import { FolderLock } from '../data/folder-lock.ts'
import type { Change, RecordKind } from '../data/records.ts'
import { replaceFile } from '../data/replace-file.ts'
import { messageOf, ServerError } from '../errors.ts'

export const COPY_FILE = 'redis-copy.jsonl'
const VERSION = 1

/** How long after a change the copy is written, with all changes until then. */
const WRITE_AFTER_MS = 5000

/** Lines that are written in one go: checks go on in between. */
const LINES_A_PART = 500

type Tables = (kind: RecordKind) => ReadonlyMap<string, unknown>

export interface RecordsCopyOptions {
  readonly folder: string
  /** Which Redis it is a copy of: where that is, without how to log in. */
  readonly of: string
  readonly onError: (error: ServerError) => void
}

export class RecordsCopy {
  readonly #path: string
  readonly #of: string
  readonly #onError: RecordsCopyOptions['onError']
  readonly #lock: FolderLock
  #timer: NodeJS.Timeout | undefined
  #written: Promise<void> = Promise.resolve()

  private constructor(path: string, lock: FolderLock, { of, onError }: RecordsCopyOptions) {
    this.#path = path
    this.#lock = lock
    this.#of = of
    this.#onError = onError
  }

  /** Locks the folder; undefined, with `onError` told, if that cannot be: the service does without a copy then. */
  static async open(options: RecordsCopyOptions): Promise<RecordsCopy | undefined> {
    const folder = resolve(options.folder)
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      return new RecordsCopy(join(folder, COPY_FILE), await FolderLock.acquire(folder), options)
    } catch (error) {
      options.onError(new ServerError('ERR_DATA_WRITE', `${folder} cannot be used: ${messageOf(error)}`, { cause: error }))
      return undefined
    }
  }

  /** What was copied last; undefined if there is nothing that can be used. */
  async read(): Promise<readonly Change[] | undefined> {
    let bytes: Buffer
    try {
      bytes = await readFile(this.#path)
    } catch {
      return undefined
    }
    const { values, badLine } = readLines(bytes)
    const [head, ...records] = values
    if (badLine > 0 || head?.version !== VERSION || head.of !== this.#of || head.count !== records.length) return undefined
    return records as unknown as readonly Change[]
  }

  /** Has the copy written soon. */
  changed(tables: Tables): void {
    this.#timer ??= setTimeout(() => this.#write(tables), WRITE_AFTER_MS).unref()
  }

  /** Writes what is due, and lets go of the folder. */
  async close(tables: Tables): Promise<void> {
    if (this.#timer !== undefined) this.#write(tables)
    await this.#written
    await this.#lock.release()
  }

  #write(tables: Tables): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#written = this.#written
      .then(async () => {
        await replaceFile(this.#path, this.#parts(tables))
      })
      .catch((error: unknown) => {
        const message = `${this.#path} cannot be written: ${messageOf(error)}`
        this.#onError(new ServerError('ERR_DATA_WRITE', message, { cause: error }))
      })
  }

  *#parts(tables: Tables): Generator<Uint8Array> {
    const records = (['policy', 'key'] as const).flatMap((kind) => [...tables(kind)].map(([id, value]) => ({ kind, id, value })))
    yield Buffer.from(sealLine({ version: VERSION, of: this.#of, count: records.length }))
    for (let at = 0; at < records.length; at += LINES_A_PART) {
      yield Buffer.from(
        records
          .slice(at, at + LINES_A_PART)
          .map(sealLine)
          .join(''),
      )
    }
  }
}
