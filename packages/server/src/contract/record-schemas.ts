// Schemas of requests and responses about records (policies and keys) that the store has lost.

import Type from 'typebox'
import { LIMITS } from './limits.ts'
import { MaybeTime, named, optionalBody, strict } from './schemas.ts'

export const RecordsState = Type.Enum(['kept', 'lost'], {
  description:
    '`lost`: The store lacks changes of policies and keys that an instance has seen. No changes are accepted until a restore.',
})

export const RecordNames = Type.Object(
  {
    count: Type.Integer({ minimum: 0 }),
    names: Type.Array(Type.Object({ kind: Type.Enum(['policy', 'key']), id: Type.String() }), {
      description: `The first ${LIMITS.mostRecordNames}: a policy by its name, a key by its id.`,
    }),
  },
  named('RecordNames'),
)

const MaybeCount = Type.Union([Type.Integer(), Type.Null()])

export const RecordsView = Type.Object(
  {
    state: RecordsState,
    since: Type.Union(MaybeTime.anyOf, { description: 'Time when the loss was noticed; null if nothing is lost.' }),
    known_changes: Type.Union(MaybeCount.anyOf, { description: 'The number of the last change that this instance knows.' }),
    found_changes: Type.Union(MaybeCount.anyOf, { description: 'The number of the last change that the store has.' }),
    known_by: Type.Union([Type.String(), Type.Null()], {
      description: 'The instance to restore from, if another instance knows more changes than this one.',
    }),
    unreadable: RecordNames,
  },
  named('Records'),
)

export const RestoreView = Type.Object(
  {
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
  },
  named('Restored'),
)

export const Restore = Type.Object(
  { dry_run: Type.Optional(Type.Boolean({ title: 'true or false', description: 'Report the plan without doing it.' })) },
  { ...strict, ...named('Restore'), ...optionalBody },
)
