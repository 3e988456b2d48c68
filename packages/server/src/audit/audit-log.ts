// One log of the audit in a folder: entries in lines of JSON that are only ever added.
// Invariant: files are numbered and keep their names, so a cursor, which is a file and a place in it, stays good until the file is
// gone; there are never more than `maxFiles` of them; a file goes when all its entries are older than `keepMs`.

import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { AppendFile, syncFolder } from '../data/append-file.ts'
import { GroupCommit } from '../data/group-commit.ts'
import { refuse } from '../input/check-input.ts'
import { show } from '../input/near-word.ts'
import { type AuditEntry, type AuditPage, type AuditReadOptions, MOST_LOOKED_AT, MOST_READ } from './audit-entry.ts'
import { firstLine } from './first-line.ts'
import { linesBefore } from './lines-before.ts'

export interface AuditLogOptions {
  /** The name of its files, before their number. Default: `audit`. */
  readonly name?: string
  /** A file that has grown to this size is the last but one. Default: 10,000,000. */
  readonly maxBytes?: number
  /** How many files are kept. Default: 10. */
  readonly maxFiles?: number
  /** Entries are kept for this time, if there is room, and go within an eighth of it more. Default: a year. */
  readonly keepMs?: number
  readonly now?: () => number
}

const CURSOR = /^(\d{1,6})-(\d{1,15})$/

const YEAR_MS = 365 * 86_400_000

/** Files that a log of slow growth has: fewer than `maxFiles`, so that they go by their age. */
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
  /** The time of the file's first entry. */
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

  /** Opens the log in a folder, which is made if there is none and belongs to this process. */
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

  /** Adds an entry, with the time; resolves when it is safe. */
  append(entry: Omit<AuditEntry, 'time'>): Promise<void> {
    const { actor, action, target, before, after, requestId, address } = entry
    const time = new Date(this.#now()).toISOString()
    return this.#entries.add(`${JSON.stringify({ time, actor, action, target, before, after, requestId, address })}\n`)
  }

  async read({ before, limit = 100, target }: AuditReadOptions = {}): Promise<AuditPage> {
    const entries: AuditEntry[] = []
    let next: string | undefined
    let lookedAt = 0
    const [from, end] = before === undefined ? [this.#number, this.#file.length] : readCursor(before)
    const numbers = (await this.#files.numbers()).filter((number) => number <= from)
    for (const number of numbers.reverse()) {
      const lines = linesBefore(this.#files.path(number), number === from ? end : Number.POSITIVE_INFINITY)
      for await (const { line, start } of lines) {
        if (entries.length >= Math.min(limit, MOST_READ) || lookedAt === MOST_LOOKED_AT) return { entries, next }
        lookedAt += 1
        next = `${number}-${start}`
        const entry = readEntry(line)
        if (entry !== undefined && (target ?? entry.target) === entry.target) entries.push(entry)
      }
    }
    return { entries, next: undefined }
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

  /** Removes files beyond the number that is kept, and those whose entries are all too old: older than the first of the next file. */
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

  /** The numbers of the files there are, in order. */
  async numbers(): Promise<number[]> {
    const names = await readdir(this.folder)
    const pattern = new RegExp(`^${this.#name}-(\\d{6})\\.jsonl$`)
    return names.flatMap((name) => pattern.exec(name)?.slice(1).map(Number) ?? []).sort((a, b) => a - b)
  }

  /** When the first entry of a file was made; undefined if it has none that can be read. */
  async startMs(number: number): Promise<number | undefined> {
    const line = await firstLine(this.path(number))
    const timeMs = Date.parse(line === undefined ? '' : (readEntry(line)?.time ?? ''))
    return Number.isNaN(timeMs) ? undefined : timeMs
  }
}

/** Cuts off what a process that ended while writing has left of a line. */
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

function readEntry(line: string): AuditEntry | undefined {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
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
