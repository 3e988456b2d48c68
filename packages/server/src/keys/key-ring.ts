// API keys: made, verified, listed, revoked, rotated.
// Invariant: no secret is kept, only its digest; a key that has been revoked or has expired does not verify from that moment on;
// keys that are alive share a name only while one takes over from the other; the last admin key is revoked only by force, also if
// several instances revoke at once.

import { timingSafeEqual } from 'node:crypto'
import type { Change, Records } from '../data/records.ts'
import { ServerError } from '../errors.ts'
import { checkInput, refuse } from '../input/check-input.ts'
import { show } from '../input/near-word.ts'
import { type ApiKey, isAlive, type KeyRecord, KeyRecordSchema, type NewKeyOptions, NewKeySchema } from './api-key.ts'
import { digestOf, idOfKeyText, makeKeyText } from './key-text.ts'
import { lastAdminRefusal } from './last-admin.ts'

export { type ApiKey, mayUse, type NewKeyOptions, type Scope } from './api-key.ts'

/** A new key with its secret, which is shown this once and not kept. */
export interface NewApiKey {
  readonly key: ApiKey
  /** What its owner sends: `sluice_<id>_<secret>_<checksum>`. */
  readonly secret: string
}

export interface RotateOptions {
  /** How long the old key lives on; until it is revoked, or expires, unless given. */
  readonly graceMs?: number
  /** When the new key expires. */
  readonly expiresAt?: number
}

export interface RevokeOptions {
  /** Revokes the key even if no other can administer. */
  readonly force?: boolean
}

/** Keys that are kept, those included that are no longer alive. */
const MOST_KEYS = 10_000

/** What keys were last used at is kept this often: a crash forgets no more than this of it. */
const KEEP_USE_EVERY_MS = 60_000

/** Keys that were proved lately and are not hashed again: hashing one takes longer than deciding a check. */
const MOST_PROVED = 1000

/** Compared with where no key has the id, so that the time says nothing about ids. */
const NOBODY = Buffer.alloc(32)

/** A key, and what proves it. */
interface Held {
  readonly key: ApiKey & { lastUsedAt?: number }
  readonly digest: Buffer
}

/** A key that was kept and cannot be read, such as one of a later version. It does not verify. */
export interface UnreadKey {
  readonly id: string
  readonly error: unknown
}

export class KeyRing {
  readonly #records: Records
  readonly #now: () => number
  readonly #onUnread: (key: UnreadKey) => void
  readonly #unread = new Map<string, UnreadKey>()
  readonly #held = new Map<string, Held>()
  readonly #used = new Set<Held>()
  /** By the text that was presented. What became of a key since then shows in `#held`. */
  readonly #proved = new Map<string, Held>()
  /** Keys that this instance refuses because it was asked to revoke them, without force, and that are not kept as revoked yet. */
  readonly #revoking = new Set<string>()
  readonly #unwatch: () => void
  readonly #timer: NodeJS.Timeout
  /** Changes are made one after the other. */
  #turn: Promise<unknown> = Promise.resolve()

  /** `onUnread` hears of each key that cannot be read. */
  constructor(records: Records, now: () => number = Date.now, onUnread: (key: UnreadKey) => void = () => {}) {
    this.#records = records
    this.#now = now
    this.#onUnread = onUnread
    for (const [id, record] of records.all('key')) this.#tryToHold(id, record)
    this.#unwatch = records.watch((change) => this.#hear(change))
    this.#timer = setInterval(() => this.keepUse().catch(() => {}), KEEP_USE_EVERY_MS)
    this.#timer.unref()
  }

  /** Keys that are kept and cannot be used. */
  get unread(): readonly UnreadKey[] {
    return [...this.#unread.values()]
  }

  /** Makes a key; resolves when it is safe. */
  create(options: NewKeyOptions): Promise<NewApiKey> {
    return this.#inTurn(async () => {
      checkInput(NewKeySchema, options, 'the API key')
      this.#checkExpiry(options.expiresAt)
      if (this.#aliveWithName(options.name).length > 0) {
        throw new ServerError(
          'ERR_KEY_TAKEN',
          `a key called ${show(options.name)} is alive: rotate that one, or choose another name`,
        )
      }
      return this.#add(options, [])
    })
  }

  /** The key that was presented, if it is known and alive. */
  verify(presented: unknown): ApiKey | undefined {
    const held = this.#provedBy(presented)
    if (held === undefined) return undefined
    const nowMs = this.#now()
    if (!isAlive(held.key, nowMs)) return undefined
    held.key.lastUsedAt = nowMs
    this.#used.add(held)
    return held.key
  }

  get(id: string): ApiKey | undefined {
    return this.#held.get(id)?.key
  }

  /** Newest first, those included that are no longer alive. */
  list(): readonly ApiKey[] {
    return this.#all().sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1))
  }

  /**
   * From this call on it does not verify, even if that could not be kept; then it rejects, may be called again, and is owed by the
   * records. The last key that can administer is refused with ERR_KEY_LAST, and stays alive.
   */
  async revoke(id: string, { force = false }: RevokeOptions = {}): Promise<ApiKey> {
    const { key } = this.#known(id)
    if (force) this.#revoking.delete(id)
    else if (key.revokedAt === undefined) this.#revoking.add(id)
    const refusal = (): ServerError | undefined => {
      const { key: now } = this.#known(id)
      const unrevoked = this.#revoking.has(id) ? withoutRevocation(now) : now
      return force ? undefined : lastAdminRefusal(unrevoked, this.#all(), this.#now())
    }
    const revokedAt = key.revokedAt ?? this.#now()
    const revoked = (): Held => changed(this.#known(id), { revokedAt })
    try {
      const refused = refusal()
      if (refused !== undefined) throw refused
      this.#held.set(id, revoked())
      return await this.#inTurn(async () => {
        const held = revoked()
        // Another instance may have revoked the others meanwhile, so the same is asked again right before it is kept.
        if (!this.#isKeptRevoked(id)) await this.#records.commit([changeTo(held)], refusal)
        this.#revoking.delete(id)
        return held.key
      })
    } catch (error) {
      if (error instanceof ServerError && error.code === 'ERR_KEY_LAST') this.#liveOn(id)
      else this.#owe(id, refusal)
      throw error
    }
  }

  /** Has the records make a revocation later. If it would be the last admin key by then, the key lives on. */
  #owe(id: string, refusal: () => ServerError | undefined): void {
    const held = this.#held.get(id)
    if (held === undefined) return
    this.#records.owe?.(changeTo(held), () => {
      if (!this.#held.has(id)) return unknownKey(id)
      const refused = refusal()
      if (refused !== undefined) this.#liveOn(id)
      return refused
    })
  }

  /** Takes back a revocation that was refused, unless the key had been revoked before. */
  #liveOn(id: string): void {
    if (!this.#revoking.delete(id)) return
    const { key, digest } = this.#known(id)
    this.#held.set(id, { key: withoutRevocation(key), digest })
  }

  #isKeptRevoked(id: string): boolean {
    return (this.#records.all('key').get(id) as KeyRecord | undefined)?.revokedAt !== undefined
  }

  /** A second key of the same name and scopes, for its owner to go over to. */
  rotate(id: string, { graceMs, expiresAt }: RotateOptions = {}): Promise<NewApiKey> {
    return this.#inTurn(async () => {
      const held = this.#known(id)
      const { key } = held
      const nowMs = this.#now()
      if (graceMs !== undefined && !(Number.isSafeInteger(graceMs) && graceMs >= 0)) {
        const message = `graceMs must be a whole number of at least 0, got ${show(graceMs)}`
        refuse('the rotation', [{ at: 'graceMs', message }])
      }
      this.#checkExpiry(expiresAt)
      if (!isAlive(key, nowMs)) {
        throw new ServerError('ERR_KEY_UNKNOWN', `the key ${show(id)} is no longer alive: create a new one`)
      }
      if (this.#aliveWithName(key.name).length > 1) {
        throw new ServerError('ERR_KEY_TAKEN', `two keys called ${show(key.name)} are alive already: revoke one of them first`)
      }
      const { name, scopes } = key
      const options = { name, scopes: [...scopes], ...(expiresAt === undefined ? {} : { expiresAt }) }
      if (graceMs === undefined) return this.#add(options, [])
      const endsAt = Math.min(key.expiresAt ?? Number.POSITIVE_INFINITY, nowMs + graceMs)
      return this.#add(options, [changed(held, { expiresAt: endsAt })])
    })
  }

  /** Keeps when keys were last used. Done once a minute, and when the ring is closed. */
  keepUse(): Promise<void> {
    return this.#inTurn(async () => {
      const used = [...this.#used].filter((held) => this.#held.get(held.key.id) === held)
      this.#used.clear()
      if (used.length > 0) await this.#records.commit(used.map(changeTo))
    })
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#unwatch()
    await this.keepUse()
  }

  /** Keeps a new key, and what becomes of others with it. */
  async #add({ name, scopes, expiresAt }: NewKeyOptions, others: readonly Held[]): Promise<NewApiKey> {
    const { id, text } = makeKeyText()
    const key: ApiKey = {
      id,
      name,
      scopes: [...new Set(scopes)],
      createdAt: this.#now(),
      ...(expiresAt === undefined ? {} : { expiresAt }),
    }
    const gone = this.#held.size < MOST_KEYS ? [] : [this.#longestDead()]
    const kept: readonly Held[] = [{ key, digest: digestOf(text) }, ...others]
    await this.#records.commit([...kept.map(changeTo), ...gone.map(({ id }) => ({ kind: 'key', id, value: undefined }) as const)])
    for (const { id } of gone) this.#held.delete(id)
    for (const held of kept) {
      // Revoked meanwhile, it stays so.
      const revokedAt = this.get(held.key.id)?.revokedAt
      this.#held.set(held.key.id, revokedAt === undefined ? held : changed(held, { revokedAt }))
    }
    return { key, secret: text }
  }

  #provedBy(presented: unknown): Held | undefined {
    const proved = this.#proved.get(presented as string)
    if (proved !== undefined && this.#held.get(proved.key.id) === proved) return proved
    const id = idOfKeyText(presented)
    if (id === undefined) return undefined
    const held = this.#held.get(id)
    const isProof = timingSafeEqual(digestOf(presented as string), held?.digest ?? NOBODY)
    if (held === undefined || !isProof) return undefined
    if (this.#proved.size >= MOST_PROVED) this.#proved.clear()
    this.#proved.set(presented as string, held)
    return held
  }

  #all(): ApiKey[] {
    return [...this.#held.values()].map(({ key }) => key)
  }

  #known(id: string): Held {
    const held = this.#held.get(id)
    if (held === undefined) throw unknownKey(id)
    return held
  }

  #aliveWithName(name: string): ApiKey[] {
    const nowMs = this.#now()
    return this.#all().filter((key) => key.name === name && isAlive(key, nowMs))
  }

  #checkExpiry(expiresAt: number | undefined): void {
    if (expiresAt === undefined || expiresAt > this.#now()) return
    const message = `expiresAt must be a time to come, in milliseconds since the epoch, got ${show(expiresAt)}`
    refuse('the API key', [{ at: 'expiresAt', message }])
  }

  #longestDead(): ApiKey {
    const nowMs = this.#now()
    const [dead] = this.#all()
      .filter((key) => !isAlive(key, nowMs))
      .sort((a, b) => endOf(a) - endOf(b))
    if (dead === undefined) throw new ServerError('ERR_FULL', `there are ${MOST_KEYS} API keys, and there may not be more`)
    return dead
  }

  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(change)
    this.#turn = turn.catch(() => {})
    return turn
  }

  /** Takes over a change of another instance. A key that was revoked here stays revoked, also if that could not be kept. */
  #hear({ kind, id, value }: Change): void {
    if (kind !== 'key') return
    const revokedAt = this.get(id)?.revokedAt
    this.#held.delete(id)
    this.#unread.delete(id)
    if (value !== undefined) this.#tryToHold(id, value)
    const held = this.#held.get(id)
    if (held === undefined || held.key.revokedAt !== undefined) this.#revoking.delete(id)
    else if (revokedAt !== undefined) this.#held.set(id, changed(held, { revokedAt }))
  }

  /** A key that cannot be read does not verify. */
  #tryToHold(id: string, record: unknown): void {
    try {
      this.#hold(id, record)
    } catch (error) {
      this.#unread.set(id, { id, error })
      this.#onUnread({ id, error })
    }
  }

  #hold(id: string, record: unknown): void {
    checkInput(KeyRecordSchema, record, `the API key ${id}`)
    const { sha256, ...key } = record
    this.#held.set(id, { key: { id, ...key }, digest: Buffer.from(sha256, 'hex') })
  }
}

function unknownKey(id: string): ServerError {
  return new ServerError('ERR_KEY_UNKNOWN', `no API key has the id ${show(id)}`)
}

function changed({ key, digest }: Held, changes: Partial<ApiKey>): Held {
  return { key: { ...key, ...changes }, digest }
}

function withoutRevocation({ revokedAt: _, ...key }: ApiKey): ApiKey {
  return key
}

function changeTo({ key: { id, scopes, ...key }, digest }: Held): Change {
  const value: KeyRecord = { ...key, scopes: [...scopes], sha256: digest.toString('hex') }
  return { kind: 'key', id, value }
}

/** When a key that is no longer alive ceased to be. */
function endOf({ revokedAt = Number.POSITIVE_INFINITY, expiresAt = Number.POSITIVE_INFINITY }: ApiKey): number {
  return Math.min(revokedAt, expiresAt)
}
