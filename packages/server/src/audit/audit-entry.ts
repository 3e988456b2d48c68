// An audit entry, and the options to read entries from a folder or from a database.

import { LIMITS } from '../contract/limits.ts'
import type { AuditedChange } from '../records.ts'

/** `changes`: administrative changes, which only admins can make. `sign-ins`: sign-ins to the dashboard, including refused ones. */
export type AuditLogName = 'changes' | 'sign-ins'

export interface AuditEntry extends AuditedChange {
  /** ISO 8601, UTC. */
  readonly time: string
}

export interface AuditReadOptions {
  /** The `next` of the previous page. Default: the newest entries. */
  readonly before?: string
  /** Entries of the page at most: 1 to 1,000. Default: 100. */
  readonly limit?: number
  /** Only entries about this target: a policy's name, a key's id, or a client and a route separated by a space. */
  readonly target?: string
  /** Only entries with this text in the action, the target or the actor's id or name, ignoring case. */
  readonly search?: string
  /** Targets that match a search as well: the ids of keys whose name has the text. */
  readonly searchedTargets?: ReadonlySet<string>
}

export interface AuditPage {
  /** Newest first. A page with a target or a search may have fewer entries than `limit` and still have a next page. */
  readonly entries: readonly AuditEntry[]
  /** The `before` of the next page; undefined if this is the last. */
  readonly next: string | undefined
  /** Number of entries that were read for this page: at most MOST_LOOKED_AT. */
  readonly lookedAt: number
}

/** Maximum number of entries in a page. */
export const MOST_READ = LIMITS.mostListed

/** Maximum number of entries that are read for one page, however few match. */
export const MOST_LOOKED_AT = LIMITS.mostLookedAt

/** Maximum number of entries in a database. Changes take some tens of megabytes, sign-ins a few. */
export const KEPT_ENTRIES: Readonly<Record<AuditLogName, number>> = { changes: 100_000, 'sign-ins': 20_000 }
