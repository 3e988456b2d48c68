// The open holds that this instance has opened, for lists and metrics. Stores cannot list holds.
// Invariant: memory is bounded, in all and for each client. A hold beyond the bounds works, and is not listed.
// A hold that another instance ended stays in the list until it expires.

import { createHash } from 'node:crypto'
import type { Hold } from 'sluice'
import type { Attributes } from '../policies/request-facts.ts'

/** An open hold, as a list shows it. */
export interface KnownHold {
  /** Names the hold in lists. It reveals nothing that could end the hold. */
  readonly id: string
  readonly clientId: string
  readonly route: string
  readonly attributes?: Attributes | undefined
  /** The keys of its counters. */
  readonly counters: readonly string[]
  readonly policy: string
  readonly granted: Readonly<Record<string, number>>
  readonly openedAt: number
  readonly expiresAt: number
  /** Names the hold, as its token does. */
  readonly held: string
  /** Its parts, if the fallback holds units in this process because the store failed. Undefined for a part that is in the store. */
  readonly ofFallback?: readonly (Hold | undefined)[]
}

/** Maximum number of listed holds: in all, and of one client. One takes about 500 bytes, and up to 10 kB with the longest names. */
export const MOST_KNOWN = 10_000
export const MOST_OF_CLIENT = 1000

/** Returns the id of a hold in lists. */
export function listedId(held: string): string {
  return createHash('sha256').update(held).digest('base64url').slice(0, 16)
}

export class KnownHolds {
  readonly #now: () => number
  readonly #onExpired: (hold: KnownHold) => void
  readonly #byId = new Map<string, KnownHold>()
  /** The ids of each client's holds, oldest first. */
  readonly #byClient = new Map<string, Set<string>>()
  /** A lower bound of the first expiry, so that most calls look at no hold. */
  #firstExpiry = Number.POSITIVE_INFINITY

  /** `onExpired` is called for each hold that expires before its end is known. */
  constructor(now: () => number, onExpired: (hold: KnownHold) => void) {
    this.#now = now
    this.#onExpired = onExpired
  }

  /** Number of open holds. */
  get size(): number {
    this.#expire()
    return this.#byId.size
  }

  add(hold: KnownHold): void {
    // Expired holds are dropped when somebody reads. Here they are only in the way if the list is full.
    if (this.#isFull(hold.clientId)) this.#expire()
    if (this.#isFull(hold.clientId)) return
    const ids = this.#byClient.get(hold.clientId) ?? new Set()
    this.#byId.set(hold.id, hold)
    this.#byClient.set(hold.clientId, ids.add(hold.id))
    this.#firstExpiry = Math.min(this.#firstExpiry, hold.expiresAt)
  }

  get(id: string): KnownHold | undefined {
    this.#expire()
    return this.#byId.get(id)
  }

  /** Removes a hold that has ended. Returns true if it was known. */
  remove(id: string): boolean {
    const hold = this.#byId.get(id)
    if (hold === undefined) return false
    this.#byId.delete(id)
    const ids = this.#byClient.get(hold.clientId)
    ids?.delete(id)
    if (ids?.size === 0) this.#byClient.delete(hold.clientId)
    return true
  }

  extend(id: string, expiresAt: number): void {
    const hold = this.#byId.get(id)
    if (hold === undefined) return
    this.#byId.set(id, { ...hold, expiresAt })
    this.#firstExpiry = Math.min(this.#firstExpiry, expiresAt)
  }

  /** Returns the open holds of a client, the latest first. */
  ofClient(clientId: string): readonly KnownHold[] {
    this.#expire()
    const ids = this.#byClient.get(clientId) ?? []
    return [...ids].map((id) => this.#byId.get(id) as KnownHold).reverse()
  }

  #isFull(clientId: string): boolean {
    return this.#byId.size >= MOST_KNOWN || (this.#byClient.get(clientId)?.size ?? 0) >= MOST_OF_CLIENT
  }

  #expire(): void {
    const nowMs = this.#now()
    if (nowMs < this.#firstExpiry) return
    this.#firstExpiry = Number.POSITIVE_INFINITY
    for (const hold of [...this.#byId.values()]) {
      if (hold.expiresAt > nowMs) this.#firstExpiry = Math.min(this.#firstExpiry, hold.expiresAt)
      else {
        this.remove(hold.id)
        this.#onExpired(hold)
      }
    }
  }
}
