// Brings the records that an instance knows up to those in the database, and finds out if the database has lost some.
// Invariant: changes are applied in their order, or all records are read again. Records from a database that lost some are never taken
// as complete.

import { withEarliestEnd } from '../../keys/earliest-end.ts'
import type { Change } from '../../records.ts'
import { countOf, differences, type FoundRecords, KINDS, type KnownRecords, type Position } from './found-records.ts'
import type { LocalRecords } from './local-records.ts'
import type { RecordsDatabase } from './records-database.ts'
import type { LossWatch } from './records-loss.ts'

export class RecordsFollower {
  readonly #local: LocalRecords
  readonly #losses: LossWatch
  readonly #database: RecordsDatabase
  #isRead = false
  /** The state of the database that was last searched for revocations. */
  #examined = ''

  constructor(local: LocalRecords, losses: LossWatch, database: RecordsDatabase) {
    this.#local = local
    this.#losses = losses
    this.#database = database
  }

  /** True once the database has been read. */
  get isRead(): boolean {
    return this.#isRead
  }

  /** Applies and returns changes of other instances. */
  async catchUp(): Promise<readonly Change[]> {
    const { known } = this.#local
    if (known === undefined) return this.#readAll()
    const { last, mark } = known.position
    const { position: found, lost, isThere, changes, marks, counts } = await this.#database.follow(known.position)
    if (!isThere) return this.#enterLoss(found)
    const isWhole = changes.length === found.last - last && changes.every((change) => change !== undefined)
    // A copy of version 1 does not say which changes it includes.
    if (!isWhole || (!this.#isRead && mark === '')) return this.#readAll()
    this.#local.moveTo(found, marks)
    this.#local.apply(changes)
    const more = KINDS.map((kind) => (counts === undefined ? 0 : counts[kind] - this.#local.sizeOf(kind)))
    // Records have disappeared without being deleted.
    if (more.some((records) => records < 0)) return [...changes, ...(await this.#enterLoss(found))]
    if (!this.#isRead || more.some((records) => records > 0)) return [...changes, ...(await this.#readAll())]
    await this.#losses.update(lost, found)
    return changes
  }

  /** Reads all records. Returns the resulting changes. */
  async #readAll(): Promise<readonly Change[]> {
    const found = await this.#database.load()
    // Another instance knows more than the database has, and this instance knows nothing. So the records must not be taken as complete.
    if (found.lost !== '' && this.#local.known === undefined) {
      this.#losses.learn(found.lost, 0, found.position)
      return []
    }
    // The database may have lost something since `follow` found it complete.
    if (this.#local.known !== undefined && !this.#includesKnown(found)) return this.#enterLoss(found.position)
    this.#isRead = true
    this.#local.moveTo(found.position, found.marks)
    const changes = this.#local.replaceAll(found.tables, found.unreadable)
    await this.#losses.update(found.lost, found.position)
    return changes
  }

  /** True if the database has everything that this instance has seen. `follow` does the same check. */
  #includesKnown(found: FoundRecords): boolean {
    const { last, mark, origin } = (this.#local.known as KnownRecords).position
    const { position, marks, tables, unreadable, isShort } = found
    const [oldest = 0] = marks.values()
    const hasMark = mark === '' || marks.has(mark) || (oldest > last && position.origin === origin)
    // If changes were skipped, having fewer records than the last change recorded is a loss as well.
    if (!hasMark || isShort || position.last < last) return false
    return position.last > last || KINDS.every((kind) => countOf(kind, tables, unreadable) >= this.#local.sizeOf(kind))
  }

  /** The database lacks changes that this instance has seen. Applies and returns revocations that are new in it. */
  async #enterLoss(found: Position): Promise<readonly Change[]> {
    const { position, tables: known } = this.#local.known as KnownRecords
    const state = JSON.stringify(found)
    const loaded = this.#examined === state ? undefined : await this.#database.load()
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
   * True if the database has the same records on a branch that is at least as long: they were restored twice, and the database lost the
   * first restore with its mark.
   */
  #isSame({ position, marks, tables, isShort }: FoundRecords): boolean {
    const { position: ours, tables: known } = this.#local.known as KnownRecords
    if (isShort || position.mark === '' || position.last < ours.last || Math.max(...marks.values()) > position.last) return false
    return KINDS.every((kind) => differences(kind, known[kind], tables[kind]).length === 0)
  }
}
