// API keys: verify, list, and the validation of changes. The change desk commits them. Changes of other instances are applied.
// Invariant: only the digest of a secret is stored. A key does not verify from the moment it is revoked or expires. Two valid keys
// share a name only during a rotation. The last admin key is revoked only with force, even if several instances revoke keys at
// once.

import { ServerError } from '../errors.ts'
import { checkInput, refuse } from '../input/check-input.ts'
import { show } from '../input/near-word.ts'
import type { Change, OwedChange, PlannedChange, RecordsView } from '../records.ts'
import { type ApiKey, isValid, type KeyRecord, type NewKeyOptions, NewKeySchema } from './api-key.ts'
import { changed, changeTo, type KeyEntry, withoutRevocation } from './key-entry.ts'
import { KeyTable, type UnreadKey, unknownKey } from './key-table.ts'
import { digestOf, makeKeyText } from './key-text.ts'
import { lastAdminRefusal } from './last-admin.ts'

export { type ApiKey, mayUse, type NewKeyOptions, type Scope } from './api-key.ts'

/** A new key with its secret. The secret is shown only once and not stored. */
export interface NewApiKey {
  readonly key: ApiKey
  /** The text that its owner sends: `sluice_<id>_<secret>_<checksum>`. */
  readonly secret: string
}

export interface RotateOptions {
  /** Time for which the old key stays valid. Default: until it is revoked or expires. */
  readonly graceMs?: number
  /** Expiry of the new key. */
  readonly expiresAt?: number
}

export interface RevokeOptions {
  /** Revokes the key even if no other key has the scope `admin`. */
  readonly force?: boolean
}

/** Maximum number of keys, including revoked and expired ones. */
const MOST_KEYS = 10_000

export class KeyRing {
  readonly #records: RecordsView
  readonly #now: () => number
  readonly #table: KeyTable
  readonly #used = new Set<KeyEntry>()
  /** Keys that this instance was asked to revoke without force, and whose revocation is not committed yet. They do not verify. */
  readonly #revoking = new Set<string>()
  readonly #unwatch: () => void

  /** `onUnread` is called for each key that cannot be read. */
  constructor(records: RecordsView, now: () => number = Date.now, onUnread: (key: UnreadKey) => void = () => {}) {
    this.#records = records
    this.#now = now
    this.#table = new KeyTable(onUnread)
    for (const [id, record] of records.all('key')) this.#table.load(id, record)
    this.#unwatch = records.watch((change) => this.#apply(change))
  }

  /** Stored keys that cannot be read. */
  get unread(): readonly UnreadKey[] {
    return this.#table.unread
  }

  /** Validates a new key. Throws if it is refused. */
  planCreate(options: NewKeyOptions): PlannedChange<NewApiKey> {
    checkInput(NewKeySchema, options, 'the API key')
    this.#checkExpiry(options.expiresAt)
    if (this.#table.validWithName(options.name, this.#now()).length > 0) {
      throw new ServerError(
        'ERR_KEY_TAKEN',
        `a valid key is called ${show(options.name)} already: rotate that one, or choose another name`,
      )
    }
    return this.#planAdd(options, [])
  }

  /** Plans a key if there is none. Otherwise throws ERR_CONFLICT. */
  planFirst(options: NewKeyOptions): PlannedChange<NewApiKey> {
    const refusal = (): ServerError | undefined =>
      this.#table.size === 0 ? undefined : new ServerError('ERR_CONFLICT', 'there is a key already')
    const refused = refusal()
    if (refused !== undefined) throw refused
    return { ...this.#planAdd(options, []), refusal }
  }

  /** Returns the key if the presented text is valid. */
  verify(presented: unknown): ApiKey | undefined {
    const entry = this.#table.entryFor(presented)
    if (entry === undefined) return undefined
    const nowMs = this.#now()
    if (!isValid(entry.key, nowMs)) return undefined
    entry.key.lastUsedAt = nowMs
    this.#used.add(entry)
    return entry.key
  }

  get(id: string): ApiKey | undefined {
    return this.#table.get(id)?.key
  }

  /** Returns the digest of a key's secret. Only instances and the owner of the key know it. */
  digestOf(id: string): Buffer | undefined {
    return this.#table.get(id)?.digest
  }

  /** Returns all keys, newest first, including revoked and expired ones. */
  list(): readonly ApiKey[] {
    return this.#table.all().sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1))
  }

  /**
   * The key does not verify from this call on. Returns the plan of the revocation, to be committed. The last key with the scope `admin`
   * is refused with ERR_KEY_LAST and stays valid. If the commit fails, the key stays revoked here, and the revocation is owed.
   */
  beginRevocation(id: string, { force = false }: RevokeOptions = {}): () => PlannedChange<ApiKey> {
    const { key } = this.#table.known(id)
    if (force) this.#revoking.delete(id)
    else if (key.revokedAt === undefined) this.#revoking.add(id)
    const refusal = (): ServerError | undefined => {
      const { key: now } = this.#table.known(id)
      const unrevoked = this.#revoking.has(id) ? withoutRevocation(now) : now
      return force ? undefined : lastAdminRefusal(unrevoked, this.#table.all(), this.#now())
    }
    const revokedAt = key.revokedAt ?? this.#now()
    const revoked = (): KeyEntry => changed(this.#table.known(id), { revokedAt })
    const refused = refusal()
    if (refused !== undefined) {
      this.#undoRevocation(id)
      throw refused
    }
    this.#table.set(revoked())
    return () => {
      const entry = revoked()
      return {
        changes: this.#isRevocationStored(id) ? [] : [changeTo(entry)],
        result: entry.key,
        // Another instance may have revoked the other admin keys meanwhile, so this runs again right before the commit.
        refusal,
        apply: () => this.#revoking.delete(id),
        failed: (error) => {
          const isLast = error instanceof ServerError && error.code === 'ERR_KEY_LAST'
          if (isLast) this.#undoRevocation(id)
          return isLast ? undefined : this.#owed(id, refusal)
        },
      }
    }
  }

  /** The revocation to be committed later. If it is the last admin key at that time, the key stays valid. */
  #owed(id: string, refusal: () => ServerError | undefined): OwedChange | undefined {
    const entry = this.#table.get(id)
    if (entry === undefined) return undefined
    return {
      change: changeTo(entry),
      refusal: () => {
        if (this.#table.get(id) === undefined) return unknownKey(id)
        const refused = refusal()
        if (refused !== undefined) this.#undoRevocation(id)
        return refused
      },
    }
  }

  /** Undoes a refused revocation, unless the key had been revoked before. */
  #undoRevocation(id: string): void {
    if (!this.#revoking.delete(id)) return
    const { key, digest } = this.#table.known(id)
    this.#table.set({ key: withoutRevocation(key), digest })
  }

  #isRevocationStored(id: string): boolean {
    return (this.#records.all('key').get(id) as KeyRecord | undefined)?.revokedAt !== undefined
  }

  /** Validates a second key with the same name and scopes, which replaces the first. Throws if it is refused. */
  planRotate(id: string, { graceMs, expiresAt }: RotateOptions = {}): PlannedChange<NewApiKey> {
    const entry = this.#table.known(id)
    const { key } = entry
    const nowMs = this.#now()
    if (graceMs !== undefined && !(Number.isSafeInteger(graceMs) && graceMs >= 0)) {
      const message = `graceMs must be a whole number of at least 0, got ${show(graceMs)}`
      refuse('the rotation', [{ at: 'graceMs', message }])
    }
    this.#checkExpiry(expiresAt)
    if (!isValid(key, nowMs)) {
      throw new ServerError('ERR_KEY_UNKNOWN', `the key ${show(id)} is revoked or expired: create a new one`)
    }
    if (this.#table.validWithName(key.name, nowMs).length > 1) {
      throw new ServerError('ERR_KEY_TAKEN', `two valid keys are called ${show(key.name)} already: revoke one of them first`)
    }
    const { name, scopes } = key
    const options = { name, scopes: [...scopes], ...(expiresAt === undefined ? {} : { expiresAt }) }
    if (graceMs === undefined) return this.#planAdd(options, [])
    const endsAt = Math.min(key.expiresAt ?? Number.POSITIVE_INFINITY, nowMs + graceMs)
    return this.#planAdd(options, [changed(entry, { expiresAt: endsAt })])
  }

  /** Returns the times of last use that are not stored yet. Each is returned once. */
  takeUse(): readonly Change[] {
    const used = [...this.#used].filter((entry) => this.#table.get(entry.key.id) === entry)
    this.#used.clear()
    return used.map(changeTo)
  }

  /** Removes the listener for changes of other instances. */
  close(): void {
    this.#unwatch()
  }

  /** Plans a new key together with changes of others. */
  #planAdd({ name, scopes, expiresAt }: NewKeyOptions, others: readonly KeyEntry[]): PlannedChange<NewApiKey> {
    const { id, text } = makeKeyText()
    const key: ApiKey = {
      id,
      name,
      scopes: [...new Set(scopes)],
      createdAt: this.#now(),
      ...(expiresAt === undefined ? {} : { expiresAt }),
    }
    const gone = this.#table.size < MOST_KEYS ? [] : [this.#longestEnded()]
    const kept: readonly KeyEntry[] = [{ key, digest: digestOf(text) }, ...others]
    const changes: readonly Change[] = [
      ...kept.map(changeTo),
      ...gone.map(({ id }) => ({ kind: 'key', id, value: undefined }) as const),
    ]
    const apply = (): void => {
      for (const { id } of gone) this.#table.delete(id)
      for (const entry of kept) {
        // A key that was revoked during the commit stays revoked.
        const revokedAt = this.get(entry.key.id)?.revokedAt
        this.#table.set(revokedAt === undefined ? entry : changed(entry, { revokedAt }))
      }
    }
    return { changes, result: { key, secret: text }, apply }
  }

  #checkExpiry(expiresAt: number | undefined): void {
    if (expiresAt === undefined || expiresAt > this.#now()) return
    const message = `expiresAt must be in the future, in milliseconds since the epoch, got ${show(expiresAt)}`
    refuse('the API key', [{ at: 'expiresAt', message }])
  }

  #longestEnded(): ApiKey {
    const ended = this.#table.longestEnded(this.#now())
    if (ended === undefined) throw new ServerError('ERR_FULL', `there are ${MOST_KEYS} API keys, which is the maximum`)
    return ended
  }

  /** Applies a change of another instance. A key that was revoked here stays revoked, even if the commit failed. */
  #apply({ kind, id, value }: Change): void {
    if (kind !== 'key') return
    const revokedAt = this.get(id)?.revokedAt
    this.#table.delete(id)
    if (value !== undefined) this.#table.load(id, value)
    const entry = this.#table.get(id)
    if (entry === undefined || entry.key.revokedAt !== undefined) this.#revoking.delete(id)
    else if (revokedAt !== undefined) this.#table.set(changed(entry, { revokedAt }))
  }
}
