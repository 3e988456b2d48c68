// An audit entry, and the options to read entries from a folder or from a database.

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
}

export interface AuditPage {
  /** Newest first. With a rare target, a page may have fewer entries than `limit` and still have a next page. */
  readonly entries: readonly AuditEntry[]
  /** The `before` of the next page; undefined if this is the last. */
  readonly next: string | undefined
}

/** Maximum number of entries in a page. */
export const MOST_READ = 1000

/** Maximum number of entries that are read for one page, however few match the target. */
export const MOST_LOOKED_AT = 20_000

/** Maximum number of entries in a database. Changes take some tens of megabytes, sign-ins a few. */
export const KEPT_ENTRIES: Readonly<Record<AuditLogName, number>> = { changes: 100_000, 'sign-ins': 20_000 }
