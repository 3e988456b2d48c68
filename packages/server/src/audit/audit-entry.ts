// An entry of the audit, and how entries are read, wherever they are kept.

/** `changes`: administrative changes, which only admins can make. `sign-ins`: to the pages, refused ones included. */
export type AuditPart = 'changes' | 'sign-ins'

export interface AuditEntry {
  /** ISO 8601, UTC. */
  readonly time: string
  /** The id of the key that was used, or who else acted: `cli`, `file`. */
  readonly actor: string
  /** Such as `policy.put`, `policy.delete`, `key.create`, `key.revoke`, `counter.reset`, `session.start`. */
  readonly action: string
  readonly target: string
  readonly before?: unknown
  readonly after?: unknown
  readonly requestId?: string
  readonly address?: string
}

export interface AuditReadOptions {
  /** The `next` of the page before; the newest entries unless given. */
  readonly before?: string
  /** The most entries of the page: 1 to 1,000. Default: 100. */
  readonly limit?: number
  /** Only what was done to this: a policy by its name, a key by its id, or a client and a route with a space between. */
  readonly target?: string
}

export interface AuditPage {
  /** Newest first. Where a target is rare there may be fewer than there could be, and still a next page. */
  readonly entries: readonly AuditEntry[]
  /** The `before` of the next page; undefined if this is the last. */
  readonly next: string | undefined
}

/** Entries of one page at most. */
export const MOST_READ = 1000

/** Entries that are looked at for one page, however few of them are wanted. */
export const MOST_LOOKED_AT = 20_000
