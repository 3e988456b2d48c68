// The form of a policy as people write it: for validation, for the API's own description, and for editors.

import Type, { type Static } from 'typebox'

/** Names stand in headers, metrics and paths: what is safe in all of them. */
const Name = Type.String({
  title: 'a name of 1 to 64 letters, digits and . _ : - that begins with a letter or digit',
  minLength: 1,
  maxLength: 64,
  pattern: '^[A-Za-z0-9][A-Za-z0-9._:-]*$',
})

const LONGEST_DURATION_MS = 2 ** 47

const Duration = Type.Union(
  [Type.Integer({ minimum: 1, maximum: LONGEST_DURATION_MS }), Type.String({ pattern: '^[0-9]{1,16}(ms|s|m|h|d)$' })],
  { title: "a duration: whole milliseconds, or such as '250ms', '10s', '1m', '2h', '7d'" },
)

const Units = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, title: 'a whole number of at least 1' })

const Anchor = Type.Enum(['first-hit', 'clock'], {
  description: "Where windows start: at a key's first hit (default), or at multiples of the window since the epoch.",
})

const named = {
  name: Type.Optional(
    Type.String({
      ...Name,
      description: 'What the rule is called in answers. Usage is kept under it. Default: its place, such as rule-1.',
    }),
  ),
}

const strict = { additionalProperties: false } as const

export const RuleObjects = [
  Type.Object(
    {
      algorithm: Type.Literal('fixed-window'),
      limit: Units,
      window: Duration,
      anchor: Type.Optional(Anchor),
      countDenied: Type.Optional(Type.Boolean({ description: 'Whether denied hits count too.' })),
      elastic: Type.Optional(Type.Boolean({ description: 'Whether every hit restarts the window.' })),
      ...named,
    },
    strict,
  ),
  Type.Object({ algorithm: Type.Literal('sliding-log'), limit: Units, window: Duration, ...named }, strict),
  Type.Object(
    {
      algorithm: Type.Literal('sliding-window'),
      limit: Units,
      window: Duration,
      anchor: Type.Optional(Anchor),
      round: Type.Optional(Type.Enum(['down', 'none'])),
      ...named,
    },
    strict,
  ),
  Type.Object(
    {
      algorithm: Type.Literal('token-bucket'),
      capacity: Units,
      refill: Units,
      every: Duration,
      style: Type.Optional(Type.Enum(['smooth', 'stepped'])),
      ...named,
    },
    strict,
  ),
  Type.Object({ algorithm: Type.Literal('gcra'), limit: Units, period: Duration, burst: Type.Optional(Units), ...named }, strict),
  Type.Object({ algorithm: Type.Literal('leaky-bucket'), capacity: Units, leak: Units, every: Duration, ...named }, strict),
] as const

const Notation = Type.String({
  title: "a rule in notation, such as '100/minute'",
  minLength: 1,
  maxLength: 1000,
})

/** The most rules of one policy: each costs every check its share. */
export const MOST_RULES = 16

/** A pattern over text: exact, or what it begins with and a star. */
function pattern(what: string, maxLength: number) {
  return Type.String({
    title: `${what}, one that ends in * for all that begin so, or * for all`,
    minLength: 1,
    maxLength,
    // No star but at the end, and nothing that a log or terminal could trip over.
    pattern: '^[^*\\u0000-\\u001f\\u007f]*\\*?$',
  })
}

export const PolicySpecSchema = Type.Object(
  {
    name: Name,
    client: Type.Optional(pattern('a client', 256)),
    route: Type.Optional(pattern('a route', 2048)),
    rules: Type.Union(
      [Notation, ...RuleObjects, Type.Array(Type.Union([Notation, ...RuleObjects]), { minItems: 1, maxItems: MOST_RULES })],
      {
        title: `a rule or a list of 1 to ${MOST_RULES}: in notation such as '100/minute', or an object with its algorithm`,
      },
    ),
    mode: Type.Optional(
      Type.Enum(['enforce', 'shadow', 'off'], {
        description:
          'enforce (default): decides. shadow: counts and tells, but lets everything through. off: does not even count.',
      }),
    ),
    scope: Type.Optional(
      Type.Enum(['route', 'policy'], {
        description:
          'What has the limit: each client and route (default), or each client over all routes of the policy. ' +
          'Where clients choose their routes, as behind a proxy, only the second limits a client.',
      }),
    ),
  },
  { ...strict, title: 'a policy' },
)

/** A policy as people write it, in JSON or YAML. */
export type PolicySpec = Static<typeof PolicySpecSchema>

/** A rule as an object: its algorithm, and the options that the library's function for it takes. */
export type RuleSpec = Static<(typeof RuleObjects)[number]>
