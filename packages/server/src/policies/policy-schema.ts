// The schema of a policy as people write it. It validates policies, describes them in the OpenAPI document, and tells editors the form
// of the configuration file.

import { OPTION_BOUNDS, type OptionFacts, type RuleFacts, type RuleSpec, ruleCatalogue } from 'sluice/rules'
import Type, { type Static, type TSchema } from 'typebox'
import { LIMITS } from '../contract/limits.ts'

export type { RuleSpec } from 'sluice/rules'

/** A name is used in headers, metrics and paths. Its characters are safe in all of them. */
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

/** Returns the schema of a duration, as people write it. */
export function durationSchema(description: string) {
  return Type.Union(DURATIONS, { title: DURATION_TITLE, description })
}

const UNITS = {
  minimum: OPTION_BOUNDS.units.least,
  maximum: OPTION_BOUNDS.units.most,
  title: 'a whole number of at least 1',
}

const TEXT = { minLength: OPTION_BOUNDS.text.least, maxLength: OPTION_BOUNDS.text.most }

const RuleName = Type.String({
  ...Name,
  description: 'Name of the rule in answers. Usage is kept under it. Default: `rule-` and a number, such as rule-1.',
})

const strict = { additionalProperties: false } as const

/** Returns the schema of a rule that is written as an object. Its options come from the catalogue. */
function ruleSchema({ algorithm, options }: RuleFacts): TSchema {
  const properties = options.map((option) => [option.name, optionSchema(option)])
  return Type.Object(
    { algorithm: Type.Literal(algorithm), ...Object.fromEntries(properties), name: Type.Optional(RuleName) },
    strict,
  )
}

function optionalUnless(isRequired: boolean, schema: TSchema): TSchema {
  return isRequired ? schema : Type.Optional(schema)
}

function optionSchema(option: OptionFacts): TSchema {
  const description = option.deprecated === undefined ? option.help : `${option.help} Deprecated: ${option.deprecated}`
  switch (option.kind) {
    case 'units':
      return optionalUnless(option.sameAs === undefined, Type.Integer({ ...UNITS, description }))
    case 'duration':
      return durationSchema(description)
    case 'choice':
      return optionalUnless(
        option.default === undefined,
        Type.Enum(option.choices.map(([value]) => value) as [string, ...string[]], { description }),
      )
    case 'flag':
      return Type.Optional(Type.Boolean({ description }))
    case 'text': {
      const text = Type.String({ ...TEXT, title: `a text such as '${option.sample}'` })
      if (!option.takesNumbers) return Type.Optional(Type.String({ ...text, description }))
      const title = `a text such as '${option.sample}', or a whole number`
      return Type.Optional(Type.Union([Type.Integer({ minimum: 0 }), text], { title, description }))
    }
  }
}

const Notation = Type.String({
  title: "a rule in notation, such as '100/minute'",
  minLength: 1,
  maxLength: 1000,
})

const oneRule: TSchema[] = [Notation, ...ruleCatalogue.map(ruleSchema)]

const Rules = Type.Unsafe<string | RuleSpec | (string | RuleSpec)[]>(
  Type.Union([...oneRule, Type.Array(Type.Union(oneRule), { minItems: 1, maxItems: LIMITS.mostRules })], {
    title: `a rule or a list of 1 to ${LIMITS.mostRules}: in notation such as '100/minute', or an object with its algorithm`,
  }),
)

/** Returns the schema of a pattern: an exact text, or a prefix and a star. `what` names the text that it matches. */
function pattern(what: string, maxLength: number) {
  return Type.String({
    title: `${what}, a prefix that ends in *, or * for all`,
    minLength: 1,
    maxLength,
    // A star is allowed only at the end. Control characters are not allowed, because they can garble logs and terminals.
    pattern: '^[^*\\u0000-\\u001f\\u007f]*\\*?$',
  })
}

export const PolicySpecSchema = Type.Object(
  {
    name: Name,
    client: Type.Optional(pattern('a client', LIMITS.longestClientId)),
    route: Type.Optional(pattern('a route', LIMITS.longestRoute)),
    rules: Rules,
    mode: Type.Optional(
      Type.Enum(['enforce', 'shadow', 'off'], {
        description: 'enforce (default): decides. shadow: counts and reports, and denies nothing. off: counts nothing.',
      }),
    ),
    scope: Type.Optional(
      Type.Enum(['route', 'policy'], {
        description:
          'route (default): each client has the limit on each route. policy: each client has it over all routes of the policy. ' +
          'If clients choose their routes, as behind a proxy, only policy limits a client.',
      }),
    ),
  },
  { ...strict, title: 'a policy' },
)

/** A policy as people write it, in JSON or YAML. */
export type PolicySpec = Static<typeof PolicySpecSchema>
