// The audit trail: one log for changes and one for sign-ins.
// Invariant: an entry that a key without the scope `admin` can cause never displaces a change.

import type { AuditedChange, ChangeNote } from '../records.ts'
import type { AuditLogName, AuditPage, AuditReadOptions } from './audit-entry.ts'

/** A log in a folder or in a database. */
export interface Log {
  /** Adds an entry, with the current time unless a time is given. */
  append(entry: AuditedChange, time?: string): Promise<void>
  read(options?: AuditReadOptions): Promise<AuditPage>
  close(): Promise<void>
}

/** Days for which entries are kept, if there is space. Sign-ins contain addresses of people, so they are kept for a shorter time. */
export const KEEP_DAYS: Readonly<Record<AuditLogName, number>> = { changes: 365, 'sign-ins': 90 }

export const DAY_MS = 86_400_000

export class AuditTrail {
  readonly #logs: Readonly<Record<AuditLogName, Log>>

  constructor(logs: Readonly<Record<AuditLogName, Log>>) {
    this.#logs = logs
  }

  /** Adds an entry, with the current time unless a time is given. Resolves when it is on disk or in the database. */
  append(entry: AuditedChange, time?: string): Promise<void> {
    return this.#logs[entry.action.startsWith('session.') ? 'sign-ins' : 'changes'].append(entry, time)
  }

  /** Adds the entry of a change that has been made, unless it was stored with the change. */
  async appendNote({ entry, isStored, time }: ChangeNote): Promise<void> {
    if (!isStored) await this.append(entry, time)
  }

  read({ of = 'changes', ...options }: AuditReadOptions & { readonly of?: AuditLogName } = {}): Promise<AuditPage> {
    return this.#logs[of].read(options)
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#logs).map((log) => log.close()))
  }
}
