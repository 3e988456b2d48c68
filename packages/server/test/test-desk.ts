// A change desk for tests of keys and policies, over any records.

import type { AuditTrail } from '../src/audit/audit-trail.ts'
import type { Caller } from '../src/desk/caller.ts'
import { ChangeDesk } from '../src/desk/change-desk.ts'
import { KeyChanges } from '../src/desk/key-changes.ts'
import { PolicyChanges } from '../src/desk/policy-changes.ts'
import type { KeyRing, NewKeyOptions, RevokeOptions, RotateOptions } from '../src/keys/key-ring.ts'
import type { PolicyKeeper } from '../src/policies/policy-keeper.ts'
import type { AuditedChange, Records } from '../src/records.ts'

export const TESTER: Caller = { id: 'k1', name: 'tester', scopes: ['admin'], address: '127.0.0.1', requestId: 'r1' }

/** An audit log that keeps entries in memory. `fails` makes each append fail. */
export class TestAudit implements Pick<AuditTrail, 'appendNote'> {
  readonly entries: AuditedChange[] = []
  fails = false

  async appendNote({ entry, isStored }: Parameters<AuditTrail['appendNote']>[0]): Promise<void> {
    if (this.fails) throw new Error('the disk is full')
    if (!isStored) this.entries.push(entry)
  }
}

/** The changes of keys, all by TESTER. */
export function keyDesk(records: Records, keys: KeyRing, audit = new TestAudit()) {
  const changes = new KeyChanges(new ChangeDesk(records, audit), keys)
  return {
    audit,
    changes,
    create: (options: NewKeyOptions) => changes.create(TESTER, options),
    rotate: (id: string, options?: RotateOptions) => changes.rotate(TESTER, id, options),
    revoke: (id: string, options?: RevokeOptions) => changes.revoke(TESTER, id, options),
    async close() {
      await changes.close()
      keys.close()
    },
  }
}

/** The changes of policies, all by TESTER. */
export function policyDesk(records: Records, policies: PolicyKeeper, audit = new TestAudit()) {
  const changes = new PolicyChanges(new ChangeDesk(records, audit), policies)
  return {
    audit,
    put: (spec: unknown) => changes.put(TESTER, spec),
    delete: (name: string) => changes.delete(TESTER, name),
  }
}
