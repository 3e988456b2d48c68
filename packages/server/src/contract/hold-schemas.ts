// Schemas of requests and responses about holds.

import Type from 'typebox'
import { durationSchema } from '../policies/policy-schema.ts'
import { LIMITS } from './limits.ts'
import { Answer, ClientId, facts, named, strict, Time, UnitsByRule } from './schemas.ts'

const whole = (minimum: 0 | 1) =>
  Type.Integer({ title: `a whole number of at least ${minimum}`, minimum, maximum: LIMITS.mostUnits })

const ByRule = Type.Object(
  {},
  {
    title: 'an object of whole numbers by rule name',
    additionalProperties: whole(0),
    maxProperties: LIMITS.mostRules,
    ...named('UnitsByRule'),
  },
)

/** Returns the schema of units: a number of at least `least`, or an object with a number for each rule name. */
function units(least: 0 | 1, description: string) {
  return Type.Unsafe<number | Readonly<Record<string, number>>>(Type.Union([whole(least), ByRule], { description }))
}

export const Reserve = Type.Object(
  {
    ...facts,
    hold: Type.Optional(
      units(
        1,
        'Units to hold: by rule name, or one number for every rule that `cost` does not name. A concurrency rule holds one place ' +
          'unless this says more.',
      ),
    ),
    cost: Type.Optional(units(1, 'Units to spend at once on the rules that are not held; 1 by default.')),
    at_least: Type.Optional(units(1, 'The smallest number of units to hold if `hold` does not fit. Default: `hold`.')),
    ttl: Type.Optional(
      durationSchema(
        'Time until the hold expires, at most 7d. Default: the shortest `ttl` of the concurrency rules, or one minute.',
      ),
    ),
    expired: Type.Optional(
      Type.Enum(['charge', 'release'], {
        description:
          'If the hold expires, its units are charged (default) or released. Places of concurrency rules are released.',
      }),
    ),
  },
  { ...strict, ...named('Reserve') },
)

const Token = Type.String({
  title: `the token of a hold, of 1 to ${LIMITS.longestToken} characters`,
  minLength: 1,
  maxLength: LIMITS.longestToken,
  description: 'The `token` of a reserve. Only the API key that reserved can use it, or a key that replaced it by a rotation.',
})

export const Settle = Type.Object(
  {
    token: Token,
    used: Type.Optional(
      units(
        0,
        'Units that were used: by rule name, or one number for every held rule. A rule that is not named is charged what it holds.',
      ),
    ),
  },
  { ...strict, ...named('Settle') },
)

export const Cancel = Type.Object({ token: Token }, { ...strict, ...named('Cancel') })

export const Extend = Type.Object(
  { token: Token, ttl: durationSchema('Time from now until the hold expires, at most 7d.') },
  { ...strict, ...named('Extend') },
)

/** The time when a hold expires. A reserve in a policy that is off, or that only shadow mode allows, holds nothing. */
const expiresAt = (description: string) =>
  Type.Union([Time, Type.Null()], { description: `${description}; null if nothing is held.` })

export const Reserved = Type.Object(
  {
    ...Answer.properties,
    token: Type.Optional(Type.String({ description: 'For Allow: names the hold in settle, cancel and extend.' })),
    granted: Type.Optional(UnitsByRule('For Allow: the units that are held, by rule name.')),
    expires_at: Type.Optional(expiresAt('For Allow: the time when the hold expires')),
  },
  named('Reserved'),
)

const ended = {
  client_id: Type.String(),
  route: Type.String(),
  policy: Type.String({ description: 'The policy for this client and route now.' }),
}

export const Settled = Type.Object({ ...ended, used: UnitsByRule('Units that were charged, by rule name.') }, named('Settled'))

export const Cancelled = Type.Object(ended, named('Cancelled'))

export const Extended = Type.Object({ ...ended, expires_at: expiresAt('The time when the hold expires now') }, named('Extended'))

export const HoldId = Type.String({
  title: 'the id of a hold in a list',
  pattern: '^[A-Za-z0-9_-]{16}$',
  description: 'The id of a hold in the list. It is not the token.',
})

export const OpenHolds = Type.Object(
  {
    client_id: Type.String(),
    known_by: Type.Literal('instance', {
      description:
        'The list has the holds that the answering instance opened and has not seen the end of. Stores cannot list holds.',
    }),
    open: Type.Integer({ minimum: 0, description: 'Number of open holds of this client that the instance knows.' }),
    holds: Type.Array(
      Type.Object({
        id: HoldId,
        route: Type.String(),
        policy: Type.String({ description: 'The policy that decided the reserve.' }),
        granted: UnitsByRule('Units that are held, by rule name.'),
        opened_at: Time,
        expires_at: Time,
      }),
      { description: `The latest first, at most ${LIMITS.mostHolds}.` },
    ),
  },
  named('OpenHolds'),
)

export const CancelById = Type.Object({ id: HoldId }, { ...strict, ...named('CancelHold') })

export const HoldsQuery = Type.Object({ client_id: ClientId }, strict)

export const CancelledById = Type.Object(
  { ...ended, id: HoldId, granted: UnitsByRule('Units that were held.') },
  named('CancelledHold'),
)
