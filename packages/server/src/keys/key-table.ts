// The keys that an instance knows, by id, and the verification of presented keys.
// Invariant: a cached verification counts only while the table has the same entry, so a changed key is verified again.

import { timingSafeEqual } from 'node:crypto'
import { ServerError } from '../errors.ts'
import { show } from '../input/near-word.ts'
import { type ApiKey, isValid } from './api-key.ts'
import { type KeyEntry, readEntry } from './key-entry.ts'
import { digestOf, idOfKeyText } from './key-text.ts'

/** Maximum number of cached verifications. Hashing a key takes longer than deciding a check. */
const MOST_VERIFIED = 1000

/** Compared with if the id is unknown, so that the response time reveals nothing about ids. */
const NOBODY = Buffer.alloc(32)

/** A stored key that cannot be read, such as one of a newer version. It does not verify. */
export interface UnreadKey {
  readonly id: string
  readonly error: unknown
}

export class KeyTable {
  readonly #onUnread: (key: UnreadKey) => void
  readonly #entries = new Map<string, KeyEntry>()
  readonly #unread = new Map<string, UnreadKey>()
  /** Verified entries by presented text. */
  readonly #verified = new Map<string, KeyEntry>()

  /** `onUnread` is called for each key that cannot be read. */
  constructor(onUnread: (key: UnreadKey) => void) {
    this.#onUnread = onUnread
  }

  get size(): number {
    return this.#entries.size
  }

  /** Stored keys that cannot be read. */
  get unread(): readonly UnreadKey[] {
    return [...this.#unread.values()]
  }

  get(id: string): KeyEntry | undefined {
    return this.#entries.get(id)
  }

  /** Like `get`, but throws ERR_KEY_UNKNOWN if there is no such key. */
  known(id: string): KeyEntry {
    const entry = this.#entries.get(id)
    if (entry === undefined) throw unknownKey(id)
    return entry
  }

  set(entry: KeyEntry): void {
    this.#entries.set(entry.key.id, entry)
  }

  /** Removes a key, also one that cannot be read. */
  delete(id: string): void {
    this.#entries.delete(id)
    this.#unread.delete(id)
  }

  /** Adds a stored key. A key that cannot be read does not verify. */
  load(id: string, record: unknown): void {
    try {
      this.set(readEntry(id, record))
    } catch (error) {
      this.#unread.set(id, { id, error })
      this.#onUnread({ id, error })
    }
  }

  /** Returns all keys, including revoked and expired ones. */
  all(): ApiKey[] {
    return [...this.#entries.values()].map(({ key }) => key)
  }

  validWithName(name: string, nowMs: number): ApiKey[] {
    return this.all().filter((key) => key.name === name && isValid(key, nowMs))
  }

  /** Returns the key that was revoked or has expired first; undefined if all keys are valid. */
  longestEnded(nowMs: number): ApiKey | undefined {
    const [ended] = this.all()
      .filter((key) => !isValid(key, nowMs))
      .sort((a, b) => endOf(a) - endOf(b))
    return ended
  }

  /** Returns the entry whose secret was presented, also if its key is revoked or expired. */
  entryFor(presented: unknown): KeyEntry | undefined {
    const verified = this.#verified.get(presented as string)
    if (verified !== undefined && this.#entries.get(verified.key.id) === verified) return verified
    const id = idOfKeyText(presented)
    if (id === undefined) return undefined
    const entry = this.#entries.get(id)
    const isProof = timingSafeEqual(digestOf(presented as string), entry?.digest ?? NOBODY)
    if (entry === undefined || !isProof) return undefined
    if (this.#verified.size >= MOST_VERIFIED) this.#verified.clear()
    this.#verified.set(presented as string, entry)
    return entry
  }
}

export function unknownKey(id: string): ServerError {
  return new ServerError('ERR_KEY_UNKNOWN', `no API key has the id ${show(id)}`)
}

/** Returns the time when a key was revoked or expired. */
function endOf({ revokedAt = Number.POSITIVE_INFINITY, expiresAt = Number.POSITIVE_INFINITY }: ApiKey): number {
  return Math.min(revokedAt, expiresAt)
}
