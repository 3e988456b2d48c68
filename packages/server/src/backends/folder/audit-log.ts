// One audit log in a folder: append-only files with one entry of JSON on each line.
// Invariant: files are numbered and keep their names, so a cursor (a file and a position in it) stays valid until the file is
// removed. There are at most `maxFiles` files. A file is removed when all its entries are older than `keepMs`.

import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { AuditEntry, AuditPage, AuditReadOptions } from '../../audit/audit-entry.ts'
import { PageReader, readEntry } from '../../audit/page-reader.ts'
import { AppendFile, syncFolder } from '../../files/append-file.ts'
import { firstLine } from '../../files/first-line.ts'
import { GroupCommit } from '../../files/group-commit.ts'
import { linesBefore } from '../../files/lines-before.ts'
import { refuse } from '../../input/check-input.ts'
import { show } from '../../input/near-word.ts'
import type { AuditedChange } from '../../records.ts'

export interface AuditLogOptions {
  /** Prefix of the file names. Default: `audit`. */
  readonly name?: string
  /** A new file is started when the current one reaches this size. Default: 10,000,000. */
  readonly maxBytes?: number
  /** Maximum number of files. Default: 10. */
  readonly maxFiles?: number
  /** Entries are removed at this age or up to an eighth later, or earlier if `maxFiles` is reached. Default: a year. */
  readonly keepMs?: number
  readonly now?: () => number
}

const CURSOR = /^(\d{1,6})-(\d{1,15})$/

const YEAR_MS = 365 * 86_400_000

/** Number of files for a log that grows slowly. It is below `maxFiles`, so that such files are removed by age and not by number. */
const FILES_BY_AGE = 8

export class AuditLog {
  readonly #files: NumberedFiles
  readonly #maxBytes: number
  readonly #maxFiles: number
  readonly #keepMs: number
  readonly #now: () => number
  readonly #entries = new GroupCommit<string>((lines) => this.#write(lines.join('')))
  #number: number
  #file: AppendFile
  /** Time of the first entry in the current file. */
  #sinceMs: number

  private constructor(files: NumberedFiles, number: number, file: AppendFile, options: AuditLogOptions) {
    this.#files = files
    this.#number = number
    this.#file = file
    this.#maxBytes = options.maxBytes ?? 10_000_000
    this.#maxFiles = options.maxFiles ?? 10
    this.#keepMs = options.keepMs ?? YEAR_MS
    this.#now = options.now ?? Date.now
    this.#sinceMs = this.#now()
  }

  /** Opens the log in a folder and creates the folder if needed. Precondition: this process owns the folder. */
  static async open(folder: string, options: AuditLogOptions = {}): Promise<AuditLog> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const files = new NumberedFiles(folder, options.name ?? 'audit')
    const number = (await files.numbers()).at(-1) ?? 1
    const file = await AppendFile.open(files.path(number))
    await dropTornLine(file)
    await syncFolder(folder)
    const log = new AuditLog(files, number, file, options)
    log.#sinceMs = (await files.startMs(number)) ?? log.#sinceMs
    await log.#dropOld()
    return log
  }

  /** Adds an entry, with the current time unless a time is given. Resolves when it is on disk. */
  append(entry: AuditedChange, time = new Date(this.#now()).toISOString()): Promise<void> {
    return this.#entries.add(`${JSON.stringify({ time, ...entry })}\n`)
  }

  /** Adds an entry, unless it is among the newest ones. */
  async addMissing({ time, ...entry }: AuditEntry): Promise<void> {
    const { entries } = await this.read()
    if (!entries.some((each) => isDeepStrictEqual(each, { time, ...entry }))) await this.append(entry, time)
  }

  async read(options: AuditReadOptions = {}): Promise<AuditPage> {
    const { before } = options
    const reader = new PageReader(options)
    const [from, end] = before === undefined ? [this.#number, this.#file.length] : readCursor(before)
    const numbers = (await this.#files.numbers()).filter((number) => number <= from)
    for (const number of numbers.reverse()) {
      const lines = linesBefore(this.#files.path(number), number === from ? end : Number.POSITIVE_INFINITY)
      for await (const { line, start } of lines) {
        if (reader.isFull) return reader.page(false)
        reader.look(`${number}-${start}`, line)
      }
    }
    return reader.page(true)
  }

  async close(): Promise<void> {
    await this.#entries.settled()
    await this.#file.close()
  }

  async #write(lines: string): Promise<void> {
    const isLarge = this.#file.length >= this.#maxBytes
    const isOld = this.#file.length > 0 && this.#now() - this.#sinceMs >= this.#keepMs / FILES_BY_AGE
    if (isLarge || isOld) await this.#turnOver()
    await this.#file.append(lines)
  }

  async #turnOver(): Promise<void> {
    const file = await AppendFile.open(this.#files.path(this.#number + 1))
    await this.#file.close()
    this.#file = file
    this.#number += 1
    this.#sinceMs = this.#now()
    await this.#dropOld()
    await syncFolder(this.#files.folder)
  }

  /** Removes files above the maximum number, and files whose next file starts with an entry that is too old. */
  async #dropOld(): Promise<void> {
    const oldestMs = this.#now() - this.#keepMs
    const numbers = await this.#files.numbers()
    for (const [i, number] of numbers.entries()) {
      if (number === this.#number) return
      const nextMs = numbers[i + 1] === this.#number ? this.#sinceMs : await this.#files.startMs(numbers[i + 1])
      const isKept = number > this.#number - this.#maxFiles && (nextMs === undefined || nextMs > oldestMs)
      if (!isKept) await rm(this.#files.path(number), { force: true })
    }
  }
}

/** The files of a log: `audit-000001.jsonl` and so on. */
class NumberedFiles {
  readonly folder: string
  readonly #name: string

  constructor(folder: string, name: string) {
    this.folder = folder
    this.#name = name
  }

  path(number: number): string {
    return join(this.folder, `${this.#name}-${String(number).padStart(6, '0')}.jsonl`)
  }

  /** Returns the numbers of the existing files, ascending. */
  async numbers(): Promise<number[]> {
    const names = await readdir(this.folder)
    const pattern = new RegExp(`^${this.#name}-(\\d{6})\\.jsonl$`)
    return names.flatMap((name) => pattern.exec(name)?.slice(1).map(Number) ?? []).sort((a, b) => a - b)
  }

  /** Returns the time of the first entry of a file, or undefined if the file has no readable entry. */
  async startMs(number: number): Promise<number | undefined> {
    const line = await firstLine(this.path(number))
    const timeMs = Date.parse(line === undefined ? '' : (readEntry(line)?.time ?? ''))
    return Number.isNaN(timeMs) ? undefined : timeMs
  }
}

/** Removes an incomplete last line, left by a process that ended while writing. */
async function dropTornLine(file: AppendFile): Promise<void> {
  const reader = await open(file.path)
  try {
    const last = Buffer.alloc(1)
    let length = file.length
    for (; length > 0; length--) {
      await reader.read(last, 0, 1, length - 1)
      if (last[0] === 0x0a) break
    }
    if (length < file.length) await file.truncate(length)
  } finally {
    await reader.close()
  }
}

function readCursor(text: string): [number, number] {
  const parts = CURSOR.exec(text)
  if (parts === null) {
    refuse('the audit log', [{ at: 'before', message: `before must be the next of a page, got ${show(text)}` }])
  }
  const [, number, end] = parts as RegExpExecArray
  return [Number(number), Number(end)]
}
