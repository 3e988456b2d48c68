// Records (policies and keys) in Redis, for any number of instances: one hash for each kind, and a stream of changes that every
// instance polls twice a second.
// An instance is in one of three states:
// - unread: it knows nothing yet, or only a local copy;
// - kept: Redis has everything that the instance has seen;
// - lost: Redis lacks changes that this or another instance has seen. Every instance goes on with what it knows, no instance makes
//   a change, and an instance that knows nothing waits. The state ends with `restore`, or when Redis has everything again.
// Invariant: a change is made only by an instance that has seen all changes before it. Every instance applies all changes in their
// order, or reads all records again. A key that was seen revoked stays revoked.

import { setTimeout as pause } from 'node:timers/promises'
import type { SendCommand } from 'sluice/redis'
import type { Change, RecordKind, Records } from '../data/records.ts'
import { ServerError } from '../errors.ts'
import { KINDS, type KnownRecords, type UnreadableRecord, writtenChanges } from './found-records.ts'
import { type CopiedRecords, LocalRecords, type LocalRecordsOptions } from './local-records.ts'
import { shareRevoked } from './named-revocations.ts'
import { type OwedRevocation, OwedRevocations } from './owed-revocations.ts'
import { RecordsFollower } from './records-follower.ts'
import { type Loss, LossWatch } from './records-loss.ts'
import { COMMIT, KEPT_CHANGES, KEPT_MARKS, RECORD_KEYS } from './records-programs.ts'
import { askRedis } from './redis-answers.ts'
import { type RestorePlan, withRevoked } from './restore-plan.ts'
import { makeMark, planFor, restoreKnown } from './restore-records.ts'

const FIRST_START = 'sluice:{records}:first-start'

const POLL_EVERY_MS = 500

/** Attempts of a commit, if changes of another kind come first. */
const TRIES = 10

/** Time that an instance has to create the first key. */
const FIRST_START_MS = 10_000

type CommitCheck = () => ServerError | undefined

export interface RedisRecordsOptions extends LocalRecordsOptions {
  readonly send: SendCommand
  /** Called after each poll: undefined if Redis answered, otherwise the error. */
  readonly onPoll?: (error: ServerError | undefined) => void
  /** Called with the loss when changes were lost, and with undefined when Redis has everything again. */
  readonly onLoss?: (loss: Loss | undefined) => void
}

export class RedisRecords implements Records {
  readonly #options: RedisRecordsOptions
  readonly #local: LocalRecords
  readonly #closing = new AbortController()
  readonly #losses: LossWatch
  readonly #follower: RecordsFollower
  readonly #owed = new OwedRevocations()
  /** Queue: polls and commits run one after the other, because both move the position. */
  #turn: Promise<unknown> = Promise.resolve()
  /** Number of failed commits, and the last error. Commits that were requested before a failure fail with it. */
  #failures = 0
  #failure: unknown

  constructor(options: RedisRecordsOptions) {
    this.#options = options
    this.#local = new LocalRecords(options)
    this.#losses = new LossWatch(this.#run, options.onLoss)
    this.#follower = new RecordsFollower(this.#local, this.#losses, this.#run)
  }

  /** True once Redis has been read. */
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

  /** Loads a local copy. It is used until Redis has been read, and Redis is compared with it. */
  loadCopy({ records, position, marks }: CopiedRecords): void {
    if (this.known !== undefined) return
    this.#local.moveTo(position, marks)
    this.#local.apply(records)
  }

  /** Starts polling until it is closed. Resolves when Redis has answered and records are known. */
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

  commit(changes: readonly Change[], refusal?: CommitCheck): Promise<void> {
    const failures = this.#failures
    return this.#inTurn(async () => {
      if (this.#failures !== failures) throw this.#failure
      let refused: ServerError | undefined
      try {
        refused = await this.#commit(changes, refusal)
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
      await this.#follower.catchUp()
      if (this.loss === undefined || this.known === undefined) return
      // If Redis cannot be written to now, a later poll tries again.
      this.#local.applyRevocations(await shareRevoked(this.all('key'), this.#run).catch(() => []))
    })
  }

  owe(change: Change, refusal: () => ServerError | undefined): void {
    this.#owed.add(change, refusal)
  }

  /** Restores lost records, or plans it. Returns undefined if nothing was lost. Throws ERR_RECORDS_BEHIND or ERR_CONFLICT. */
  restore({ dryRun }: { readonly dryRun: boolean }): Promise<RestorePlan | undefined> {
    return this.#inTurn(async () => {
      await this.#follower.catchUp()
      const { known, loss } = this
      if (loss === undefined) return undefined
      if (known === undefined || loss.knownBy !== undefined) {
        const message = `Redis lost changes that another instance knows: restore from ${loss.knownBy ?? 'that one'}`
        throw new ServerError('ERR_RECORDS_BEHIND', message)
      }
      if (dryRun) {
        const { isThere, plan } = await planFor(known, this.#run)
        return isThere ? undefined : withRevoked(plan, this.#owed.due(this.all('key')))
      }
      const restored = await restoreKnown(known, this.#run)
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

  /** True if this instance creates the first key. Of several instances that start at once on an empty Redis, only one does. */
  async isFirst(): Promise<boolean> {
    return (await this.#ask(['SET', FIRST_START, '1', 'NX', 'PX', String(FIRST_START_MS)])) === 'OK'
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#turn
  }

  async #follow(onFirst: () => void): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        await this.poll()
        if (this.known !== undefined) onFirst()
        this.#options.onPoll?.(undefined)
        // If this fails because a commit came first, the next poll tries again.
        await this.writeOwed().catch(() => {})
      } catch (error) {
        this.#options.onPoll?.(error as ServerError)
      }
      await pause(POLL_EVERY_MS, undefined, { ref: false, signal }).catch(() => {})
    }
  }

  /** Returns the refusal, or undefined if the changes were committed. */
  async #commit(changes: readonly Change[], refusal: CommitCheck = () => undefined): Promise<ServerError | undefined> {
    if (changes.length === 0) return undefined
    const kinds = new Set(changes.map(({ kind }) => kind))
    for (let tries = 0; tries < TRIES; tries++) {
      if (!this.isRead) await this.#follower.catchUp()
      const { known } = this
      if (this.loss !== undefined || known === undefined) throw lostError()
      // `refusal` judges the records at `known`. If Redis has later changes, nothing is written.
      const refused = refusal()
      if (refused !== undefined) return refused
      const { last, mark, origin } = known.position
      const made = makeMark()
      const facts = [
        last,
        mark,
        made,
        origin || makeMark(),
        KEPT_CHANGES,
        KEPT_MARKS,
        ...KINDS.map((kind) => this.#local.sizeOf(kind)),
      ].map(String)
      const [now, text] = (await this.#run(COMMIT, ...facts, ...writtenChanges(changes))) as [number, string]
      if (now >= 0) {
        this.#local.moveTo({ last: now, mark: made, origin: text }, new Map([[made, now]]))
        for (const change of changes) this.#local.set(change)
        return undefined
      }
      const missed = await this.#follower.catchUp()
      // The change was validated against outdated data.
      if (missed.some(({ kind }) => kinds.has(kind))) break
    }
    if (this.loss !== undefined) throw lostError()
    throw new ServerError('ERR_CONFLICT', 'another instance made a change at the same moment: check its change and try again')
  }

  /** Writes revocations that Redis lacks, if changes are possible. */
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
      const refused = await this.#commit([owed.change], owed.refusal)
      this.#owed.delete(owed.change.id)
      if (refused !== undefined) continue
      this.#local.apply([owed.change])
      written.push(owed)
    }
    return written
  }

  readonly #run = (program: string, ...args: string[]): Promise<unknown> =>
    this.#ask(['EVAL', program, String(RECORD_KEYS.length), ...RECORD_KEYS, ...args])

  #ask(command: readonly string[]): Promise<unknown> {
    return askRedis(this.#options.send, RECORD_KEYS[0], command)
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => {})
    return turn
  }
}

function lostError(): ServerError {
  const message =
    'Redis lost changes of policies and keys, and nothing can be changed until they are restored: run sluice records restore'
  return new ServerError('ERR_RECORDS_LOST', message)
}
