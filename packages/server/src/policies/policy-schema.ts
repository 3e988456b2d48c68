// The form of a policy as people write it: for validation, for the API's own description, and for editors.

import { OPTION_BOUNDS, type OptionFacts, type RuleFacts, type RuleSpec, ruleCatalogue } from 'sluice/rules'
import Type, { type Static, type TSchema } from 'typebox'

export type { RuleSpec } from 'sluice/rules'

/** Names stand in headers, metrics and paths: what is safe in all of them. */
const Name = Type.String({
  title: 'a name of 1 to 64 letters, digits and . _ : - that begins with a letter or digit',
  minLength: 1,
  maxLength: 64,
  pattern: '^[A-Za-z0-9][A-Za-z0-9._:-]*$',
})

const DURATIONS = [
  Type.Integer({ minimum: OPTION_BOUNDS.duration.least, maximum: OPTION_BOUNDS.duration.most }),
  Type.String({ pattern: '^[0-9]{1,16}(ms|s|m|h|d)$' }),
]
const DURATION_TITLE = "a duration: whole milliseconds, or such as '250ms', '10s', '1m', '2h', '7d'"

const UNITS = {
  minimum: OPTION_BOUNDS.units.least,
  maximum: OPTION_BOUNDS.units.most,
  title: 'a whole number of at least 1',
}

const RuleName = Type.String({
  ...Name,
  description: 'What the rule is called in answers. Usage is kept under it. Default: its place, such as rule-1.',
})

const strict = { additionalProperties: false } as const

/** The schema of a rule as an object, from what the catalogue says of its options. */
function ruleSchema({ algorithm, options }: RuleFacts): TSchema {
  const properties = options.map((option) => [option.name, optionSchema(option)])
  return Type.Object(
    { algorithm: Type.Literal(algorithm), ...Object.fromEntries(properties), name: Type.Optional(RuleName) },
    strict,
  )
}

function optionSchema(option: OptionFacts): TSchema {
  const description = option.deprecated === undefined ? option.help : `${option.help} Deprecated: ${option.deprecated}`
  switch (option.kind) {
    case 'units': {
      const units = Type.Integer({ ...UNITS, description })
      return option.sameAs === undefined ? units : Type.Optional(units)
    }
    case 'duration':
      return Type.Union(DURATIONS, { title: DURATION_TITLE, description })
    case 'choice':
      return Type.Optional(Type.Enum(option.choices.map(([value]) => value) as [string, ...string[]], { description }))
    case 'flag':
      return Type.Optional(Type.Boolean({ description }))
  }
}

const Notation = Type.String({
  title: "a rule in notation, such as '100/minute'",
  minLength: 1,
  maxLength: 1000,
})

/** The most rules of one policy: each costs every check its share. */
export const MOST_RULES = 16

const oneRule: TSchema[] = [Notation, ...ruleCatalogue.map(ruleSchema)]

const Rules = Type.Unsafe<string | RuleSpec | (string | RuleSpec)[]>(
  Type.Union([...oneRule, Type.Array(Type.Union(oneRule), { minItems: 1, maxItems: MOST_RULES })], {
    title: `a rule or a list of 1 to ${MOST_RULES}: in notation such as '100/minute', or an object with its algorithm`,
  }),
)

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
    rules: Rules,
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
