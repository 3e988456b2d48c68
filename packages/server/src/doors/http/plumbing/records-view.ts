// The state of the records (policies and keys) in the API's form.

import Type, { type Static } from 'typebox'
import type { RecordName, Service } from '../../../service.ts'

/** Names in one list at most. Enough to recognise what happened, however many records there are. */
const MOST_NAMES = 100

export const RecordsState = Type.Enum(['kept', 'lost'], {
  description:
    '`lost`: The store lacks changes of policies and keys that an instance has seen. No changes are accepted until a restore.',
})

const RecordNames = Type.Object({
  count: Type.Integer({ minimum: 0 }),
  names: Type.Array(Type.Object({ kind: Type.Enum(['policy', 'key']), id: Type.String() }), {
    description: `The first ${MOST_NAMES}: a policy by its name, a key by its id.`,
  }),
})

const Maybe = {
  time: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  count: Type.Union([Type.Integer(), Type.Null()]),
}

export const RecordsView = Type.Object({
  state: RecordsState,
  since: Type.Union(Maybe.time.anyOf, { description: 'Time when the loss was noticed; null if nothing is lost.' }),
  known_changes: Type.Union(Maybe.count.anyOf, { description: 'The number of the last change that this instance knows.' }),
  found_changes: Type.Union(Maybe.count.anyOf, { description: 'The number of the last change that the store has.' }),
  known_by: Type.Union([Type.String(), Type.Null()], {
    description: 'The instance to restore from, if another instance knows more changes than this one.',
  }),
  unreadable: RecordNames,
})

export const RestoreView = Type.Object({
  state: RecordsState,
  dry_run: Type.Boolean(),
  written: Type.Object(RecordNames.properties, { description: 'Records that the store lacked or had in an earlier form.' }),
  revoked: Type.Object(RecordNames.properties, { description: 'The keys among `written` that the store would have accepted.' }),
  removed: Type.Object(RecordNames.properties, {
    description: 'Records in the store that were deleted before the loss, or whose patterns another policy has taken.',
  }),
  kept: Type.Object(RecordNames.properties, {
    description: 'Records that were changed after the loss. They are not overwritten.',
  }),
  exact: Type.Boolean({
    description: 'False if the changes after the loss are not all known. Then every record in the store counts as changed.',
  }),
})

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
  return { count: records.length, names: records.slice(0, MOST_NAMES).map(({ kind, id }) => ({ kind, id })) }
}
