// Schemas of the events in the stream of checks.

import Type from 'typebox'
import { named, Time, Whole } from './schemas.ts'

/** The `data` of a `check` event. */
export const CheckEventView = Type.Object(
  {
    time: Time,
    client_id: Type.String(),
    route: Type.String(),
    counted_route: Type.Optional(
      Type.String({ description: 'The route that the check was counted under, if it differs: `*` for all paths of a client.' }),
    ),
    cost: Type.Integer({ minimum: 1 }),
    policy: Type.String(),
    outcome: Type.Enum(['allow', 'deny', 'error']),
    reason: Type.String({ description: 'The reason for the outcome.', examples: ['limit'] }),
    rule: Type.String({ description: 'The rule that decided the outcome.' }),
    limit: Type.Integer(),
    remain: Whole,
    retry_after_ms: Type.Union([Whole, Type.Null()], { description: 'null: never.' }),
    source: Type.String({ description: 'The source of the numbers: the store, or a fallback.', examples: ['store'] }),
    skipped: Type.Integer({
      minimum: 0,
      description: 'Number of checks of the same kind (denied or not) that the sample left out since the previous event.',
    }),
  },
  named('CheckEvent'),
)

/** The `data` of a `dropped` event. */
export const DroppedView = Type.Object(
  {
    count: Type.Integer({ minimum: 1, description: 'Number of events that were dropped because this connection was too slow.' }),
  },
  named('DroppedEvents'),
)
