// Records (policies and keys) in a database, for any number of instances. Every instance polls the changes twice a second, and sooner
// if it is told that there are some.
// An instance is in one of three states:
// - unread: it knows nothing yet, or only a local copy;
// - kept: the database has everything that the instance has seen;
// - lost: the database lacks changes that this or another instance has seen. Every instance goes on with what it knows, no instance
//   makes a change, and an instance that knows nothing waits. The state ends with `restore`, or when the database has everything again.
// Invariant: a change is made only by an instance that has seen all changes before it. Every instance applies all changes in their
// order, or reads all records again. A key that was seen revoked stays revoked.

import { setTimeout as pause } from 'node:timers/promises'
import { ServerError } from '../../errors.ts'
import { type Change, type ChangeNote, type CommitOptions, errorForLater, type RecordKind, type Records } from '../../records.ts'
import { CommitPace } from './commit-pace.ts'
import type { KnownRecords, UnreadableRecord } from './found-records.ts'
import { type CopiedRecords, LocalRecords, type LocalRecordsOptions } from './local-records.ts'
import { shareRevoked } from './named-revocations.ts'
import { type OwedRevocation, OwedRevocations } from './owed-revocations.ts'
import type { RecordsDatabase } from './records-database.ts'
import { RecordsFollower } from './records-follower.ts'
import { type Loss, LossWatch } from './records-loss.ts'
import { type RestorePlan, withRevoked } from './restore-plan.ts'
import { makeMark, planFor, restoreKnown } from './restore-records.ts'
import { sendCommit, unknownOutcome } from './sent-commit.ts'

const POLL_EVERY_MS = 500

/** Attempts of a commit, if changes of another kind come first. */
const TRIES = 10

export interface SharedRecordsOptions extends LocalRecordsOptions {
  readonly database: RecordsDatabase
  /** Called after each poll: undefined if the database answered, otherwise the error. */
  readonly onPoll?: (error: ServerError | undefined) => void
  /** Called with the loss when changes were lost, and with undefined when the database has everything again. */
  readonly onLoss?: (loss: Loss | undefined) => void
}

export class SharedRecords implements Records {
  readonly #options: SharedRecordsOptions
  readonly #database: RecordsDatabase
  readonly #local: LocalRecords
  readonly #closing = new AbortController()
  readonly #losses: LossWatch
  readonly #follower: RecordsFollower
  readonly #owed = new OwedRevocations()
  readonly #pace = new CommitPace()
  /** Queue: polls and commits run one after the other, because both move the position. */
  #turn: Promise<unknown> = Promise.resolve()
  /** Number of failed commits, and the last error. Commits that were requested before a failure fail with it. */
  #failures = 0
  #failure: unknown
  /** Ends the pause before the next poll. Set during the pause. */
  #wake: (() => void) | undefined
  /** True if the next poll must not wait. */
  #isNudged = false

  constructor(options: SharedRecordsOptions) {
    this.#options = options
    this.#database = options.database
    this.#local = new LocalRecords(options)
    this.#losses = new LossWatch(this.#database, options.onLoss)
    this.#follower = new RecordsFollower(this.#local, this.#losses, this.#database)
  }

  /** True once the database has been read. */
  get isRead(): boolean {
    return this.#follower.isRead
  }

  get loss(): Loss | undefined {
    return this.#losses.loss
  }

  get unreadable(): readonly UnreadableRecord[] {
    return this.#local.unreadable
  }

  /** All known records, for the local copy; undefined if none are known. */
  get known(): KnownRecords | undefined {
    return this.#local.known
  }

  /** Loads a local copy. It is used until the database has been read, and the database is compared with it. */
  loadCopy({ records, position, marks }: CopiedRecords): void {
    if (this.known !== undefined) return
    this.#local.moveTo(position, marks)
    this.#local.apply(records)
  }

  /** Starts polling until it is closed. Resolves when the database has answered and records are known. */
  async start(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#follow(resolve)
    })
  }

  all(kind: RecordKind): ReadonlyMap<string, unknown> {
    return this.#local.tables[kind]
  }

  watch(listener: (change: Change) => void): () => void {
    return this.#local.watch(listener)
  }

  commit(changes: readonly Change[], options: CommitOptions = {}): Promise<void> {
    const failures = this.#failures
    return this.#inTurn(async () => {
      await this.#pace.wait()
      if (this.#failures !== failures) throw errorForLater(this.#failure)
      let refused: ServerError | undefined
      try {
        refused = await this.#commit(changes, options)
      } catch (error) {
        this.#failures += 1
        this.#failure = error
        throw error
      }
      if (refused !== undefined) throw refused
    })
  }

  /** Applies changes of other instances now. */
  poll(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#catchUp()
      if (this.loss === undefined || this.known === undefined) return
      // If the database cannot be written to now, a later poll tries again.
      this.#local.applyRevocations(await shareRevoked(this.all('key'), this.#database).catch(() => []))
    })
  }

  /** Polls soon: another instance has probably made a change. */
  nudge(): void {
    this.#isNudged = true
    this.#wake?.()
  }

  owe(change: Change, refusal: () => ServerError | undefined, note?: ChangeNote): void {
    this.#owed.add({ change, refusal, note })
  }

  /** Restores lost records, or plans it. Returns undefined if nothing was lost. Throws ERR_RECORDS_BEHIND or ERR_CONFLICT. */
  restore({ dryRun }: { readonly dryRun: boolean }): Promise<RestorePlan | undefined> {
    return this.#inTurn(async () => {
      await this.#follower.catchUp()
      const { known, loss } = this
      if (loss === undefined) return undefined
      if (known === undefined || loss.knownBy !== undefined) {
        const message = `${this.#database.title} lost changes that another instance knows: restore from ${loss.knownBy ?? 'that one'}`
        throw new ServerError('ERR_RECORDS_BEHIND', message)
      }
      if (dryRun) {
        const { isThere, plan } = await planFor(known, this.#database)
        return isThere ? undefined : withRevoked(plan, this.#owed.due(this.all('key')))
      }
      const restored = await restoreKnown(known, this.#database)
      // Another instance has restored the records since `catchUp` above.
      if (restored === undefined) {
        await this.#follower.catchUp()
        return undefined
      }
      this.#local.moveTo(restored.position, restored.marks)
      this.#local.replaceAll(restored.plan.tables)
      this.#losses.end()
      // If this fails, the next poll tries again.
      return withRevoked(restored.plan, await this.#writeRevocations().catch(() => []))
    })
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#wake?.()
    await this.#turn
  }

  async #follow(onFirst: () => void): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      this.#isNudged = false
      try {
        await this.poll()
        if (this.known !== undefined) onFirst()
        this.#options.onPoll?.(undefined)
        // If this fails because a commit came first, the next poll tries again.
        await this.writeOwed().catch(() => {})
      } catch (error) {
        this.#options.onPoll?.(error as ServerError)
      }
      if (!this.#isNudged && !signal.aborted) await this.#pause()
    }
  }

  /** Waits for the time of the next poll, a nudge or the end. */
  async #pause(): Promise<void> {
    const woken = new AbortController()
    this.#wake = () => woken.abort()
    await pause(POLL_EVERY_MS, undefined, { ref: false, signal: woken.signal }).catch(() => {})
    this.#wake = undefined
  }

  /** Returns the refusal, or undefined if the changes were committed. */
  async #commit(changes: readonly Change[], options: CommitOptions = {}): Promise<ServerError | undefined> {
    const { refusal, note, applied } = options
    if (changes.length === 0) return undefined
    const kinds = new Set(changes.map(({ kind }) => kind))
    const mark = makeMark()
    for (let tries = 0; tries < TRIES; tries++) {
      if (!this.isRead) await this.#follower.catchUp()
      const { known } = this
      if (this.loss !== undefined || known === undefined) throw this.#lostError()
      // `refusal` judges the records at `known`. If the database has later changes, nothing is written.
      const refused = refusal?.()
      if (refused !== undefined) return refused
      const startMs = performance.now()
      const { position, lost } = await sendCommit(this.#database, {
        seen: known.position,
        mark,
        origin: known.position.origin || makeMark(),
        counts: { policy: this.#local.sizeOf('policy'), key: this.#local.sizeOf('key') },
        changes,
        ...(note && { entry: note.entry }),
      })
      if (position !== undefined) {
        this.#pace.committed(startMs)
        this.#local.moveTo(position, new Map([[mark, position.last]]))
        for (const change of changes) this.#local.set(change)
        applied?.()
        if (note !== undefined) note.isStored = true
        return undefined
      }
      const missed = await this.#catchUp().catch((error: unknown) => {
        throw lost === undefined ? error : unknownOutcome(this.#database, lost)
      })
      // The change was made, and only its answer was lost. `catchUp` has applied it.
      if (this.known?.marks.has(mark)) {
        if (note !== undefined) note.isStored = true
        return undefined
      }
      // The change was validated against outdated data.
      if (missed.some(({ kind }) => kinds.has(kind))) break
    }
    if (this.loss !== undefined) throw this.#lostError()
    throw new ServerError('ERR_CONFLICT', 'another instance made a change at the same moment: check its change and try again')
  }

  /** Applies and returns changes of other instances. */
  async #catchUp(): Promise<readonly Change[]> {
    const missed = await this.#follower.catchUp()
    if (missed.length > 0) this.#pace.sawOthers()
    return missed
  }

  /** Writes revocations that the database lacks, if changes are possible. */
  async writeOwed(): Promise<void> {
    if (this.loss !== undefined) return
    await this.#inTurn(async () => {
      const { lostRevocations, tables } = this.#local
      const ids = [...lostRevocations]
      const existing = ids.filter((id) => tables.key.has(id))
      await this.#commit(existing.map((id) => ({ kind: 'key', id, value: tables.key.get(id) })))
      for (const id of ids) lostRevocations.delete(id)
      await this.#writeRevocations()
    })
  }

  /** Returns the written revocations. */
  async #writeRevocations(): Promise<readonly OwedRevocation[]> {
    const written: OwedRevocation[] = []
    for (const owed of this.#owed.due(this.all('key'))) {
      const refused = await this.#commit([owed.change], { refusal: owed.refusal, ...(owed.note && { note: owed.note }) })
      this.#owed.delete(owed.change.id)
      if (refused !== undefined) continue
      this.#local.apply([owed.change])
      written.push(owed)
    }
    return written
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => {})
    return turn
  }

  #lostError(): ServerError {
    const message = `${this.#database.title} lost changes of policies and keys, and nothing can be changed until they are restored: run sluice records restore`
    return new ServerError('ERR_RECORDS_LOST', message)
  }
}
