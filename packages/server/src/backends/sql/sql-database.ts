// The records in a SQL database. Each step is one transaction.

import type { FoundRecords, Position } from '../records/found-records.ts'
import type {
  ChunkRequest,
  CommitRequest,
  Counts,
  FinishRequest,
  Followed,
  FoundWithChanges,
  RecordsDatabase,
  RevokedKey,
} from '../records/records-database.ts'
import {
  CLAIM,
  NOTICE,
  type PositionState,
  readChanges,
  readFact,
  readMarks,
  readPosition,
  readState,
  readTables,
  removeFacts,
  textOf,
  writeFact,
} from './record-state.ts'
import { addEntry } from './sql-audit-log.ts'
import { ask, fromSafeText, insertAll, type Program, type SqlDriver, safeText } from './sql-program.ts'
import { addChanges, addGap, addMarks, countRecords, writeOrigin, writeValues } from './write-records.ts'

/** Up to so many records, each poll counts them: somebody else may have deleted some. */
const COUNTED_OFTEN = 10_000

/** Time between two counts of more records. */
const COUNT_EVERY_MS = 60_000

export class SqlDatabase implements RecordsDatabase {
  readonly #driver: SqlDriver
  readonly #nowMs: string
  /** Result and time of the last count of all records. */
  #counted = 0
  #countedMs = Number.NEGATIVE_INFINITY

  constructor(driver: SqlDriver) {
    this.#driver = driver
    this.#nowMs = driver.nowMs
  }

  get title(): string {
    return this.#driver.title
  }

  troubleOf(error: unknown): string {
    return this.#driver.troubleOf(error)
  }

  commit(request: CommitRequest): Promise<Position | undefined> {
    return this.#write(() => this.#commit(request))
  }

  load(): Promise<FoundRecords> {
    return this.#driver.transact('read', () => this.#load())
  }

  loadWithChanges(): Promise<FoundWithChanges> {
    return this.#driver.transact('read', () => this.#loadWithChanges())
  }

  follow(seen: Position): Promise<Followed> {
    return this.#driver.transact('read', () => this.#follow(seen))
  }

  writeNotice(notice: string, forMs: number): Promise<string> {
    return this.#write(() => this.#writeNotice(notice, forMs))
  }

  async removeNotice(notice: string): Promise<void> {
    await this.#write(() => ask('DELETE FROM sluice_facts WHERE name = ? AND value = ?', NOTICE, notice))
  }

  nameRevoked(keys: readonly RevokedKey[], { forMs, most }: { readonly forMs: number; readonly most: number }): Promise<void> {
    return this.#write(() => this.#nameRevoked(keys, forMs, most))
  }

  async namedRevoked(): Promise<readonly RevokedKey[]> {
    const named = () => ask(`SELECT id, revoked_at FROM sluice_revoked WHERE ends_at > ${this.#nowMs}`)
    const rows = await this.#driver.transact('read', named)
    return rows.map(({ id, revoked_at }) => [fromSafeText(textOf(id)), Number(revoked_at)])
  }

  claim(claim: string, forMs: number): Promise<boolean> {
    return this.#write(() => this.#claim(claim, forMs))
  }

  async unclaim(claim: string): Promise<void> {
    await this.#write(() => this.#unclaim(claim))
  }

  writeChunk(request: ChunkRequest): Promise<boolean> {
    return this.#write(() => this.#writeChunk(request))
  }

  finish(request: FinishRequest): Promise<boolean> {
    return this.#write(() => this.#finish(request))
  }

  #write<T>(program: () => Program<T>): Promise<T> {
    return this.#driver.transact('write', program)
  }

  *#commit({ seen, mark, origin, counts, changes, entry }: CommitRequest): Program<Position | undefined> {
    const state = yield* readState(this.#nowMs)
    const isSeen = state.position.last === seen.last && state.position.mark === seen.mark
    if (state.lost !== '' || !isSeen || state.counts.policy < counts.policy || state.counts.key < counts.key) return undefined
    yield* writeValues(changes)
    const position = { last: yield* addChanges(seen.last, changes), mark, origin: state.position.origin || origin }
    yield* addMarks(position)
    if (state.position.origin === '') yield* writeOrigin(origin)
    if (entry !== undefined) yield* addEntry('changes', entry, this.#nowMs)
    yield* this.#announce()
    return position
  }

  *#load(): Program<FoundRecords> {
    const { position, lost, isShort } = yield* readState(this.#nowMs)
    return { position, lost, isShort, marks: yield* readMarks(-1), ...(yield* readTables()) }
  }

  *#loadWithChanges(): Program<FoundWithChanges> {
    return { ...(yield* this.#load()), changes: yield* readChanges(-1) }
  }

  *#follow(seen: Position): Program<Followed> {
    const { position, lost, counts } = yield* this.#pollState()
    const isThere = position.last >= seen.last && (yield* this.#hasMark(seen, position))
    const isBehind = isThere && position.last > seen.last
    const changes = isBehind ? (yield* readChanges(seen.last)).map(({ change }) => change) : []
    const marks = isBehind ? yield* readMarks(seen.last) : new Map<string, number>()
    return { position, lost, isThere, changes, marks, counts }
  }

  /** Counts few records every time, and many records now and then. */
  *#pollState(): Program<PositionState & { readonly counts: Counts | undefined }> {
    if (this.#counted > COUNTED_OFTEN && performance.now() - this.#countedMs < COUNT_EVERY_MS) {
      return { ...(yield* readPosition(this.#nowMs)), counts: undefined }
    }
    const state = yield* readState(this.#nowMs)
    this.#counted = state.counts.policy + state.counts.key
    this.#countedMs = performance.now()
    return state
  }

  *#hasMark(seen: Position, found: Position): Program<boolean> {
    if (seen.mark === '' || seen.mark === found.mark) return true
    if ((yield* ask('SELECT 1 FROM sluice_marks WHERE mark = ?', seen.mark)).length > 0) return true
    const [{ oldest }] = yield* ask('SELECT min(number) AS oldest FROM sluice_marks')
    return oldest !== null && Number(oldest) > seen.last && found.origin === seen.origin
  }

  *#writeNotice(notice: string, forMs: number): Program<string> {
    const current = yield* readFact(NOTICE, this.#nowMs)
    if (current !== undefined && Number.parseInt(current, 10) > Number.parseInt(notice, 10)) return current
    yield* writeFact(NOTICE, notice, forMs, this.#nowMs)
    return notice
  }

  *#nameRevoked(keys: readonly RevokedKey[], forMs: number, most: number): Program<void> {
    yield* ask(`DELETE FROM sluice_revoked WHERE ends_at <= ${this.#nowMs}`)
    const known = new Set((yield* ask('SELECT id FROM sluice_revoked')).map(({ id }) => textOf(id)))
    const [{ now }] = yield* ask(`SELECT ${this.#nowMs} AS now`)
    const named = keys.map(([id, atMs]) => [safeText(id), Math.round(atMs), Number(now) + forMs] as const)
    const repeated = named.filter(([id]) => known.has(id))
    const added = named.filter(([id]) => !known.has(id)).slice(0, Math.max(0, most - known.size))
    yield* insertAll(
      'sluice_revoked (id, revoked_at, ends_at)',
      [...repeated, ...added],
      'ON CONFLICT (id) DO UPDATE SET ends_at = excluded.ends_at',
    )
  }

  *#claim(claim: string, forMs: number): Program<boolean> {
    if ((yield* readFact(CLAIM, this.#nowMs)) !== undefined) return false
    yield* writeFact(CLAIM, `${claim} 0`, forMs, this.#nowMs)
    return true
  }

  *#unclaim(claim: string): Program<void> {
    const current = yield* readFact(CLAIM, this.#nowMs)
    if (current?.split(' ')[0] === claim) yield* removeFacts(CLAIM)
  }

  *#writeChunk({ claim, forMs, chunks, changes }: ChunkRequest): Program<boolean> {
    if ((yield* readFact(CLAIM, this.#nowMs)) !== `${claim} ${chunks}`) return false
    yield* writeFact(CLAIM, `${claim} ${chunks + 1}`, forMs, this.#nowMs)
    yield* writeValues(changes)
    return true
  }

  *#finish({ claim, chunks, seen, position, counts, marks }: FinishRequest): Program<boolean> {
    if ((yield* readFact(CLAIM, this.#nowMs)) !== `${claim} ${chunks}`) return false
    yield* removeFacts(CLAIM)
    const state = yield* readState(this.#nowMs)
    if (state.position.last !== seen.last || state.position.mark !== seen.mark) return false
    const found = yield* countRecords()
    if (found.policy !== counts.policy || found.key !== counts.key) return false
    yield* addGap(position.last, counts)
    yield* addMarks(position, marks)
    yield* writeOrigin(position.origin)
    yield* removeFacts(NOTICE)
    yield* ask('DELETE FROM sluice_revoked')
    yield* this.#announce()
    return true
  }

  *#announce(): Program<void> {
    if (this.#driver.announce !== undefined) yield* ask(this.#driver.announce)
  }
}
