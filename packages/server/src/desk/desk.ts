// All changes that people and programs ask for: the doors, the command line and the first start use this room alone.

import type { AuditTrail } from '../audit/audit-trail.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import type { PolicyKeeper } from '../policies/policy-keeper.ts'
import type { Records } from '../records.ts'
import type { RecordsMaintenance, RestoreReport } from '../records-maintenance.ts'
import type { Caller } from './caller.ts'
import { ChangeDesk, type Trace } from './change-desk.ts'
import { KeyChanges } from './key-changes.ts'
import { PolicyChanges } from './policy-changes.ts'

export interface DeskOptions {
  readonly records: Records
  readonly audit: Pick<AuditTrail, 'appendNote'>
  readonly keys: KeyRing
  readonly policies: PolicyKeeper
  readonly maintenance: RecordsMaintenance
  /** The kind of the store, which is the target of a restore in the audit log. */
  readonly storeKind: string
}

export class Desk {
  readonly keys: KeyChanges
  readonly policies: PolicyChanges
  readonly #changes: ChangeDesk
  readonly #maintenance: RecordsMaintenance
  readonly #storeKind: string

  constructor({ records, audit, keys, policies, maintenance, storeKind }: DeskOptions) {
    this.#changes = new ChangeDesk(records, audit)
    this.keys = new KeyChanges(this.#changes, keys)
    this.policies = new PolicyChanges(this.#changes, policies)
    this.#maintenance = maintenance
    this.#storeKind = storeKind
  }

  /** Audits something that was done and that is not in the records, such as the reset of a counter. */
  record(caller: Caller, trace: Trace): Promise<void> {
    return this.#changes.record(caller, trace)
  }

  /** Restores lost records, or plans it. Resolves to undefined if nothing was lost. */
  restore(caller: Caller, { dryRun }: { readonly dryRun: boolean }): Promise<RestoreReport | undefined> {
    const loss = this.#maintenance.loss()
    const traceOf = (done: RestoreReport | undefined): Trace | undefined => {
      if (done === undefined || dryRun) return undefined
      const { written, revoked, removed, kept, isExact } = done
      return {
        action: 'records.restore',
        target: this.#storeKind,
        before: { known_changes: loss?.known, found_changes: loss?.found },
        after: {
          written: written.length,
          revoked: revoked.length,
          removed: removed.length,
          kept: kept.length,
          exact: isExact,
        },
      }
    }
    return this.#changes.rebuild(caller, () => this.#maintenance.restore({ dryRun }), traceOf)
  }

  /** Stores the times of last use. */
  close(): Promise<void> {
    return this.keys.close()
  }
}
