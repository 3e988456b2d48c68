// Brings the records that an instance knows up to those in Redis, and finds out if Redis has lost some.
// Invariant: changes are applied in their order, or all records are read again. Records from a Redis that lost some are never taken as
// complete.

import type { Change } from '../data/records.ts'
import { withEarliestEnd } from '../keys/earliest-end.ts'
import {
  countOf,
  differences,
  type FoundRecords,
  KINDS,
  type KnownRecords,
  type LoadReply,
  type Position,
  readChange,
  readLoaded,
  readMarks,
  type StreamEntry,
} from './found-records.ts'
import type { LocalRecords } from './local-records.ts'
import type { LossWatch } from './records-loss.ts'
import { FOLLOW, LOAD } from './records-programs.ts'
import type { RunProgram } from './restore-records.ts'

type FollowReply = readonly [number, string, string, string, 0 | 1, readonly StreamEntry[], readonly string[], number, number]

export class RecordsFollower {
  readonly #local: LocalRecords
  readonly #losses: LossWatch
  readonly #run: RunProgram
  #isRead = false
  /** The state of Redis that was last searched for revocations. */
  #examined = ''

  constructor(local: LocalRecords, losses: LossWatch, run: RunProgram) {
    this.#local = local
    this.#losses = losses
    this.#run = run
  }

  /** True once Redis has been read. */
  get isRead(): boolean {
    return this.#isRead
  }

  /** Applies and returns changes of other instances. */
  async catchUp(): Promise<readonly Change[]> {
    const { known } = this.#local
    if (known === undefined) return this.#readAll()
    const { last, mark, origin } = known.position
    const reply = (await this.#run(FOLLOW, String(last), mark, origin)) as FollowReply
    const [foundLast, foundMark, foundOrigin, notice, isThere, entries, marks, policies, keys] = reply
    const found: Position = { last: foundLast, mark: foundMark, origin: foundOrigin }
    if (isThere === 0) return this.#enterLoss(found)
    const changes = entries.map(readChange)
    const isWhole = changes.length === foundLast - last && changes.every((change) => change !== undefined)
    // A copy of version 1 does not say which changes it includes.
    if (!isWhole || (!this.#isRead && mark === '')) return this.#readAll()
    this.#local.moveTo(found, readMarks(marks))
    this.#local.apply(changes)
    const [morePolicies, moreKeys] = [policies - this.#local.sizeOf('policy'), keys - this.#local.sizeOf('key')]
    // Records have disappeared without being deleted.
    if (morePolicies < 0 || moreKeys < 0) return [...changes, ...(await this.#enterLoss(found))]
    if (!this.#isRead || morePolicies > 0 || moreKeys > 0) return [...changes, ...(await this.#readAll())]
    await this.#losses.update(notice, found)
    return changes
  }

  /** Reads all records. Returns the resulting changes. */
  async #readAll(): Promise<readonly Change[]> {
    const found = await this.#load()
    // Another instance knows more than Redis has, and this instance knows nothing. So the records in Redis must not be taken as complete.
    if (found.lost !== '' && this.#local.known === undefined) {
      this.#losses.learn(found.lost, 0, found.position)
      return []
    }
    // Redis may have lost something since FOLLOW found it complete.
    if (this.#local.known !== undefined && !this.#includesKnown(found)) return this.#enterLoss(found.position)
    this.#isRead = true
    this.#local.moveTo(found.position, found.marks)
    const changes = this.#local.replaceAll(found.tables, found.unreadable)
    await this.#losses.update(found.lost, found.position)
    return changes
  }

  /** True if Redis has everything that this instance has seen. The program FOLLOW does the same check. */
  #includesKnown(found: FoundRecords): boolean {
    const { last, mark, origin } = (this.#local.known as KnownRecords).position
    const { position, marks, tables, unreadable, isShort } = found
    const [oldest = 0] = marks.values()
    const hasMark = mark === '' || marks.has(mark) || (oldest > last && position.origin === origin)
    // If changes were skipped, having fewer records than the last change recorded is a loss as well.
    if (!hasMark || isShort || position.last < last) return false
    return position.last > last || KINDS.every((kind) => countOf(kind, tables, unreadable) >= this.#local.sizeOf(kind))
  }

  /** Redis lacks changes that this instance has seen. Applies and returns revocations that are new in Redis. */
  async #enterLoss(found: Position): Promise<readonly Change[]> {
    const { position, tables: known } = this.#local.known as KnownRecords
    const state = JSON.stringify(found)
    const loaded = this.#examined === state ? undefined : await this.#load()
    if (loaded !== undefined && this.#isSame(loaded)) {
      this.#isRead = true
      this.#local.moveTo(loaded.position, loaded.marks)
      await this.#losses.update(loaded.lost, loaded.position)
      return []
    }
    await this.#losses.announce(position, found)
    if (loaded === undefined) return []
    this.#examined = state
    const { tables } = loaded
    const revoked = [...known.key]
      .map(([id, ours]) => ({ id, ours, value: withEarliestEnd(ours, tables.key.get(id)) }))
      .filter(({ value, ours }) => value !== ours)
      .map(({ id, value }): Change => ({ kind: 'key', id, value }))
    this.#local.apply(revoked)
    return revoked
  }

  /**
   * True if Redis has the same records on a branch that is at least as long: they were restored twice, and Redis lost the first restore
   * with its mark.
   */
  #isSame({ position, marks, tables, isShort }: FoundRecords): boolean {
    const { position: ours, tables: known } = this.#local.known as KnownRecords
    if (isShort || position.mark === '' || position.last < ours.last || Math.max(...marks.values()) > position.last) return false
    return KINDS.every((kind) => differences(kind, known[kind], tables[kind]).length === 0)
  }

  async #load(): Promise<FoundRecords> {
    return readLoaded((await this.#run(LOAD)) as LoadReply)
  }
}
