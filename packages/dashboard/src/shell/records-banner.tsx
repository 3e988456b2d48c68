// A notice on all pages while the store lacks policies or keys that an instance has seen. It shows the facts and the command to run.

import { usePolled } from '../api/polled.ts'
import { session } from '../api/session.ts'
import { fullTime } from '../words/time-text.ts'

const EVERY_MS = 5000

export function RecordsBanner() {
  // Without a session the service would refuse the request.
  const isIn = session.value.status === 'in'
  const { data } = usePolled('getRecords', isIn ? {} : undefined, EVERY_MS)
  if (!isIn || data === undefined || data.state === 'kept') return null
  const { since, known_changes, found_changes, known_by } = data
  return (
    <div class="note bad records-banner" role="alert">
      <p>
        <strong>The store has lost policies or keys.</strong> This instance is at change {known_changes}, the store is at change{' '}
        {found_changes}
        {since !== null && ` (noticed ${fullTime(since)})`}. Checks are decided with the policies and keys that are known here,
        keys that were revoked stay revoked, and nothing can be changed. Put the records back with{' '}
        <code>sluice records restore</code>
        {known_by !== null && ` at ${known_by}`}. Entries of the audit log that the store lost are gone.
      </p>
    </div>
  )
}
