// Opens the audit trail of a data folder.

import type { AuditEntry } from '../../audit/audit-entry.ts'
import { AuditTrail, DAY_MS, KEEP_DAYS } from '../../audit/audit-trail.ts'
import { AuditLog } from './audit-log.ts'

/** Ten files of this size hold some ten thousand sign-ins. */
const SIGN_IN_BYTES = 1_000_000

/** `lastEntries` are those of the last change in the journal. A process that was killed after the change may not have written them. */
export async function openFolderAudit(
  folder: string,
  lastEntries: readonly AuditEntry[] = [],
  now: () => number = Date.now,
): Promise<AuditTrail> {
  const changes = await AuditLog.open(folder, { keepMs: KEEP_DAYS.changes * DAY_MS, now })
  // If the disk is full, the service starts anyway, and a later start tries again.
  for (const entry of lastEntries) await changes.addMissing(entry).catch(() => {})
  const signIns = await AuditLog.open(folder, {
    name: 'sign-ins',
    maxBytes: SIGN_IN_BYTES,
    keepMs: KEEP_DAYS['sign-ins'] * DAY_MS,
    now,
  })
  return new AuditTrail({ changes, 'sign-ins': signIns })
}
