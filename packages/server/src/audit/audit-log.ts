// Who changed what, and when: every administrative change, in lines of JSON that are only ever added.
// What must stay true: files are numbered and keep their names, so a cursor, which is a file and a place in it, stays good
// until the file is gone; and there are never more than `maxFiles` of them.

import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { AppendFile, syncFolder } from '../data/append-file.ts'
import { GroupCommit } from '../data/group-commit.ts'
import { refuse } from '../input/check-input.ts'
import { show } from '../input/near-word.ts'
import { linesBefore } from './lines-before.ts'

export interface AuditEntry {
  /** ISO 8601, UTC. */
  readonly time: string
  /** The id of the key that was used, or who else acted: `cli`, `file`. */
  readonly actor: string
  /** Such as `policy.put`, `policy.delete`, `key.create`, `key.revoke`, `counter.reset`. */
  readonly action: string
  readonly target: string
  readonly before?: unknown
  readonly after?: unknown
  readonly requestId?: string
  readonly address?: string
}

export interface AuditReadOptions {
  /** The `next` of the page before; the newest entries unless given. */
  readonly before?: string
  /** How many at most: 1 to 1,000. Default: 100. */
  readonly limit?: number
  /** Only what was done to this: a policy by its name, a key by its id, or a client and a route with a space between. */
  readonly target?: string
}

export interface AuditPage {
  /** Newest first. Where a target is rare there may be fewer than there could be, and still a next page. */
  readonly entries: readonly AuditEntry[]
  /** The `before` of the next page; undefined if this is the last. */
  readonly next: string | undefined
}

export interface AuditLogOptions {
  /** A file that has grown to this size is the last but one. Default: 10,000,000. */
  readonly maxBytes?: number
  /** How many files are kept. Default: 10. */
  readonly maxFiles?: number
  readonly now?: () => number
}

const NAME = /^audit-(\d{6})\.jsonl$/
const CURSOR = /^(\d{1,6})-(\d{1,15})$/

/** Entries of one page at most. */
export const MOST_READ = 1000

/** Entries that are looked at for one page, however few of them are wanted. */
export const MOST_LOOKED_AT = 20_000

export class AuditLog {
  readonly #folder: string
  readonly #maxBytes: number
  readonly #maxFiles: number
  readonly #now: () => number
  readonly #entries = new GroupCommit<string>((lines) => this.#write(lines.join('')))
  #number: number
  #file: AppendFile

  private constructor(folder: string, number: number, file: AppendFile, options: AuditLogOptions) {
    this.#folder = folder
    this.#number = number
    this.#file = file
    this.#maxBytes = options.maxBytes ?? 10_000_000
    this.#maxFiles = options.maxFiles ?? 10
    this.#now = options.now ?? Date.now
  }

  /** Opens the log in a folder, which is made if there is none and belongs to this process. */
  static async open(folder: string, options: AuditLogOptions = {}): Promise<AuditLog> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const number = (await numbersIn(folder)).at(-1) ?? 1
    const file = await AppendFile.open(pathOf(folder, number))
    await dropTornLine(file)
    await syncFolder(folder)
    return new AuditLog(folder, number, file, options)
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
    const numbers = (await numbersIn(this.#folder)).filter((number) => number <= from)
    for (const number of numbers.reverse()) {
      const lines = linesBefore(pathOf(this.#folder, number), number === from ? end : Number.POSITIVE_INFINITY)
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
    if (this.#file.length >= this.#maxBytes) await this.#turnOver()
    await this.#file.append(lines)
  }

  async #turnOver(): Promise<void> {
    const file = await AppendFile.open(pathOf(this.#folder, this.#number + 1))
    await this.#file.close()
    this.#file = file
    this.#number += 1
    for (const number of await numbersIn(this.#folder)) {
      if (number <= this.#number - this.#maxFiles) await rm(pathOf(this.#folder, number), { force: true })
    }
    await syncFolder(this.#folder)
  }
}

function pathOf(folder: string, number: number): string {
  return join(folder, `audit-${String(number).padStart(6, '0')}.jsonl`)
}

/** The numbers of the files there are, in order. */
async function numbersIn(folder: string): Promise<number[]> {
  const names = await readdir(folder)
  return names.flatMap((name) => NAME.exec(name)?.slice(1).map(Number) ?? []).sort((a, b) => a - b)
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
