// Records in a folder. Every change is appended to a journal before it is acknowledged. From time to time all records are written to
// a snapshot, and the journal starts empty.
// Invariant: the folder can be read after a kill at any moment. A group of commits is one line, so it is complete or absent.
// Groups are numbered, and the snapshot has the number of its last group, so older groups in the journal are skipped. A group has the
// entries of the audit log about its changes. They are written to that log after the group, so those of the last group may be missing there.

import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { AuditEntry } from '../../audit/audit-entry.ts'
import { ServerError } from '../../errors.ts'
import { AppendFile, syncFolder } from '../../files/append-file.ts'
import { readLines, sealLine } from '../../files/checked-lines.ts'
import { refuseNewer } from '../../files/file-version.ts'
import { GroupCommit } from '../../files/group-commit.ts'
import { draftOf, replaceFile } from '../../files/replace-file.ts'
import type { Change, ChangeNote, CommitOptions, RecordKind, Records } from '../../records.ts'

const JOURNAL = 'journal.jsonl'
const SNAPSHOT = 'snapshot.jsonl'

/** Version of the file format. */
const VERSION = 1

/** A snapshot is written when the journal is at least this large and at least as large as the last snapshot. */
const COMPACT_AT_BYTES = 1_000_000

/** Records that are written to a snapshot at a time. Other work runs in between. */
const RECORDS_AT_A_TIME = 1000

export interface JournalOptions {
  /** Returns false if another process has taken over the folder. */
  readonly isOurs?: () => Promise<boolean>
  readonly compactAtBytes?: number
}

interface Line {
  /** Version of the line's format. Without it, the version is 1. */
  readonly version?: number
  readonly n: number
  readonly changes: readonly Change[]
  readonly entries?: readonly AuditEntry[]
}

interface Commit {
  readonly changes: readonly Change[]
  readonly entry: AuditEntry | undefined
}

type Tables = ReadonlyMap<RecordKind, Map<string, unknown>>

export class Journal implements Records {
  /** Repairs that were made when it was opened, for people. */
  readonly notices: readonly string[]
  /** The entries of the last group, when it was opened. */
  readonly lastEntries: readonly AuditEntry[]
  readonly #folder: string
  readonly #file: AppendFile
  readonly #tables: Tables
  readonly #isOurs: () => Promise<boolean>
  readonly #compactAtBytes: number
  readonly #commits = new GroupCommit<Commit>((group) => this.#write(group))
  #n: number
  #compactNextAt: number
  #isClosed = false

  private constructor(folder: string, file: AppendFile, found: Found, options: JournalOptions) {
    this.#folder = folder
    this.#file = file
    this.#tables = found.tables
    this.#n = found.n
    this.notices = found.notices
    this.lastEntries = found.lastEntries
    this.#isOurs = options.isOurs ?? (async () => true)
    this.#compactAtBytes = options.compactAtBytes ?? COMPACT_AT_BYTES
    this.#compactNextAt = Math.max(this.#compactAtBytes, found.snapshotBytes)
  }

  /** Reads the folder. Precondition: it exists and is locked. Throws ERR_DATA_DAMAGED if its content is not consistent. */
  static async open(folder: string, options: JournalOptions = {}): Promise<Journal> {
    const found = await readSnapshot(join(folder, SNAPSHOT))
    const file = await AppendFile.open(join(folder, JOURNAL))
    try {
      await replay(file, found)
      await rm(draftOf(join(folder, SNAPSHOT)), { force: true })
      await syncFolder(folder)
      return new Journal(folder, file, found, options)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  all(kind: RecordKind): ReadonlyMap<string, unknown> {
    return tableOf(this.#tables, kind)
  }

  async commit(changes: readonly Change[], { refusal, applied, note }: CommitOptions = {}): Promise<void> {
    if (this.#isClosed) throw new ServerError('ERR_DATA_WRITE', `${this.#folder} has been closed`)
    // No other process changes the folder, so all earlier changes are known.
    const refused = refusal?.()
    if (refused !== undefined) throw refused
    if (changes.length > 0) await this.#commits.add({ changes, entry: note && datedEntry(note) })
    applied?.()
  }

  /** A folder has one owner, so there are no changes of others to report. */
  watch(): () => void {
    return () => {}
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#commits.settled()
    await this.#file.close()
  }

  async #write(group: readonly Commit[]): Promise<void> {
    const changes = group.flatMap((commit) => commit.changes)
    const entries = group.flatMap(({ entry }) => entry ?? [])
    if (!(await this.#isOurs())) {
      throw new ServerError(
        'ERR_DATA_WRITE',
        `${this.#folder} has been taken over by another process: nothing more is written to it`,
      )
    }
    if (this.#file.length >= this.#compactNextAt) await this.#tryToCompact()
    const line: Line = { version: VERSION, n: this.#n + 1, changes, ...(entries.length > 0 && { entries }) }
    await this.#file.append(sealLine(line))
    this.#n += 1
    for (const change of changes) apply(this.#tables, change)
  }

  /** If it fails, the journal is still complete, so the next occasion is early enough. */
  async #tryToCompact(): Promise<void> {
    try {
      const bytes = await replaceFile(join(this.#folder, SNAPSHOT), this.#snapshot())
      await this.#file.truncate(0)
      this.#compactNextAt = Math.max(this.#compactAtBytes, bytes)
    } catch {
      this.#compactNextAt = this.#file.length + this.#compactAtBytes
    }
  }

  *#snapshot(): Generator<Buffer> {
    const records = [...this.#tables].flatMap(([kind, table]) => [...table].map(([id, value]) => ({ kind, id, value })))
    yield Buffer.from(sealLine({ version: VERSION, n: this.#n, records: records.length }))
    for (let i = 0; i < records.length; i += RECORDS_AT_A_TIME) {
      const some = records.slice(i, i + RECORDS_AT_A_TIME)
      yield Buffer.from(some.map(sealLine).join(''))
    }
  }
}

interface Found {
  readonly tables: Tables
  n: number
  snapshotBytes: number
  readonly notices: string[]
  lastEntries: readonly AuditEntry[]
}

async function readSnapshot(path: string): Promise<Found> {
  const tables: Tables = new Map([
    ['policy', new Map()],
    ['key', new Map()],
  ])
  const found: Found = { tables, n: 0, snapshotBytes: 0, notices: [], lastEntries: [] }
  const bytes = await readIfThere(path)
  if (bytes === undefined) return found
  const { values, badLine } = readLines(bytes)
  if (badLine > 0) throw damaged(path, `line ${badLine} is not what was written`)
  const [header, ...records] = values
  if (header === undefined) throw damaged(path, 'it is empty')
  refuseNewer(path, header.version, VERSION)
  if (header.records !== records.length) throw damaged(path, `it has ${records.length} records of ${header.records}`)
  for (const record of records) apply(tables, record as unknown as Change)
  found.n = header.n as number
  found.snapshotBytes = bytes.length
  return found
}

async function replay(file: AppendFile, found: Found): Promise<void> {
  const { path } = file
  const { values, goodBytes, badLine, isDamaged } = readLines(await readFile(path))
  for (const value of values) {
    const { version, n, changes, entries = [] } = value as unknown as Line
    refuseNewer(path, version, VERSION)
    found.lastEntries = entries
    if (n <= found.n) continue
    if (n !== found.n + 1) throw damaged(path, `change ${found.n + 1} is missing: after ${found.n} comes ${n}`)
    for (const change of changes) apply(found.tables, change)
    found.n = n
  }
  // Checked after the versions, because lines of a newer program may look damaged here.
  if (isDamaged) throw damaged(path, `line ${badLine} is not what was written`, 'delete that line to go on without its changes')
  if (goodBytes === file.length) return
  found.notices.push(
    `${path}: dropped ${file.length - goodBytes} bytes after line ${badLine - 1}: a change that was never acknowledged, as its process ended while writing it`,
  )
  await file.truncate(goodBytes)
}

/** Returns the entry of a change with the current time, which is noted for the audit log. */
function datedEntry(note: ChangeNote): AuditEntry {
  note.time = new Date().toISOString()
  return { time: note.time, ...note.entry }
}

function apply(tables: Tables, { kind, id, value }: Change): void {
  const table = tableOf(tables, kind)
  if (value === undefined) table.delete(id)
  else table.set(id, value)
}

function tableOf(tables: Tables, kind: RecordKind): Map<string, unknown> {
  const table = tables.get(kind)
  if (table === undefined) throw new ServerError('ERR_DATA_DAMAGED', `no kind of record is called ${kind}`)
  return table
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function damaged(path: string, why: string, otherwise = 'move it away to start without it'): ServerError {
  return new ServerError('ERR_DATA_DAMAGED', `${path} is damaged: ${why}. Restore it from a backup, or ${otherwise}`)
}
