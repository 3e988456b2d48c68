// The state of the records (policies and keys) in the API's form.

import type { Static } from 'typebox'
import { LIMITS } from '../../../contract/limits.ts'
import type { RecordNames, RecordsView } from '../../../contract/record-schemas.ts'
import type { RecordName } from '../../../records-maintenance.ts'
import type { Service } from '../../../service.ts'

export function recordsState({ records }: Service): 'kept' | 'lost' {
  return records.loss() === undefined ? 'kept' : 'lost'
}

/** Records that exist and cannot be used, from every source. */
export function unreadableRecords({ records, policies, keys }: Service): readonly RecordName[] {
  return [
    ...records.unreadable(),
    ...policies.unread.map(({ name }) => ({ kind: 'policy' as const, id: name })),
    ...keys.unread.map(({ id }) => ({ kind: 'key' as const, id })),
  ]
}

export function recordsView(service: Service): Static<typeof RecordsView> {
  const loss = service.records.loss()
  return {
    state: recordsState(service),
    since: loss === undefined ? null : new Date(loss.sinceMs).toISOString(),
    known_changes: loss?.known ?? null,
    found_changes: loss?.found ?? null,
    known_by: loss?.knownBy ?? null,
    unreadable: namesOf(unreadableRecords(service)),
  }
}

export function namesOf(records: readonly RecordName[]): Static<typeof RecordNames> {
  return { count: records.length, names: records.slice(0, LIMITS.mostRecordNames).map(({ kind, id }) => ({ kind, id })) }
}
