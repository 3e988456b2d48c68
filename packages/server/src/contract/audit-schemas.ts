// Schemas of requests and responses about the audit log.

import Type from 'typebox'
import { LIMITS } from './limits.ts'
import { Cursor, Next, named, strict, Time } from './schemas.ts'

export const AuditEntry = Type.Object(
  {
    time: Time,
    actor: Type.String({ description: 'The id of the key that was used, or another actor such as `cli`.' }),
    actorName: Type.Optional(
      Type.String({ description: 'The name of the actor at that time. Entries of earlier versions have none.' }),
    ),
    action: Type.String(),
    target: Type.String(),
    before: Type.Optional(Type.Unknown()),
    after: Type.Optional(Type.Unknown()),
    requestId: Type.Optional(Type.String()),
    address: Type.Optional(Type.String()),
  },
  named('AuditEntry'),
)

export const AuditPage = Type.Object(
  {
    entries: Type.Array(AuditEntry),
    next: Next,
    looked_at: Type.Integer({
      minimum: 0,
      maximum: LIMITS.mostLookedAt,
      description: 'Entries that were read for this page. With a search, older entries are read by the next page.',
    }),
  },
  named('AuditPage'),
)

export const AuditQuery = Type.Object(
  {
    of: Type.Optional(
      Type.Enum(['changes', 'sign-ins'], {
        description: 'Administrative changes, or sign-ins to the dashboard (including refused ones). Default: changes.',
      }),
    ),
    before: Type.Optional(Cursor),
    target: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4096,
        description:
          'Only entries about this target: the name of a policy, the id of a key, or a client and a route separated by a space.',
      }),
    ),
    search: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description:
          "Only entries with this text in the action, the target or the actor's id or name, or in the present name of a key that is the target, ignoring case.",
      }),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMITS.mostListed, description: 'Entries at most; 100 by default.' }),
    ),
  },
  strict,
)
