// Opens the audit trail of a data folder.

import { AuditTrail, DAY_MS, KEEP_DAYS } from '../../audit/audit-trail.ts'
import { AuditLog } from './audit-log.ts'

/** Ten files of this size hold some ten thousand sign-ins. */
const SIGN_IN_BYTES = 1_000_000

export async function openFolderAudit(folder: string, now: () => number = Date.now): Promise<AuditTrail> {
  const changes = await AuditLog.open(folder, { keepMs: KEEP_DAYS.changes * DAY_MS, now })
  const signIns = await AuditLog.open(folder, {
    name: 'sign-ins',
    maxBytes: SIGN_IN_BYTES,
    keepMs: KEEP_DAYS['sign-ins'] * DAY_MS,
    now,
  })
  return new AuditTrail({ changes, 'sign-ins': signIns })
}
