// The forms of the events that a stream of checks has.

import Type from 'typebox'
import { named, Time, Whole } from './schemas.ts'

/** One check, as those who watch see it: the `data` of an event called `check`. */
export const CheckEventView = Type.Object(
  {
    time: Time,
    client_id: Type.String(),
    route: Type.String(),
    counted_route: Type.Optional(
      Type.String({ description: 'The route that it was counted under, where that is another: `*` for all paths of a client.' }),
    ),
    cost: Type.Integer({ minimum: 1 }),
    policy: Type.String(),
    outcome: Type.Enum(['allow', 'deny', 'error']),
    reason: Type.String({ description: 'Why.', examples: ['limit'] }),
    rule: Type.String({ description: 'The rule that spoke.' }),
    limit: Type.Integer(),
    remain: Whole,
    retry_after_ms: Type.Union([Whole, Type.Null()], { description: 'null: never.' }),
    source: Type.String({ description: 'Where the numbers come from.', examples: ['store'] }),
    skipped: Type.Integer({
      minimum: 0,
      description: 'Checks of the same kind, denied or not, that were left out of the sample since the one before.',
    }),
  },
  named('CheckEvent'),
)

/** The `data` of an event called `dropped`. */
export const DroppedView = Type.Object(
  { count: Type.Integer({ minimum: 1, description: 'Events that this connection was too slow for.' }) },
  named('DroppedEvents'),
)
