// The page of API keys and the audit log.

import { useState } from 'preact/hooks'
import { isAdmin } from '../../api/session.ts'
import { AuditLog } from './audit-log.tsx'
import { KeyList } from './key-list.tsx'
import './keys.css'

export function Keys() {
  const [changes, setChanges] = useState(0)
  return (
    <>
      <header class="page-head">
        <div>
          <h1>Keys and audit</h1>
          <p>Who may call the service, and who changed what.</p>
        </div>
      </header>
      {isAdmin.value ? (
        <div class="keys">
          <KeyList onChanged={() => setChanges(changes + 1)} />
          <AuditLog key={changes} />
        </div>
      ) : (
        <p class="note">Keys and the audit log are for admins. Sign in with an admin key to see them.</p>
      )}
    </>
  )
}
