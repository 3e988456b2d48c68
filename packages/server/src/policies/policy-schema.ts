// The schema of a policy as people write it. It validates policies, describes them in the OpenAPI document, and tells editors the form
// of the configuration file.

import { OPTION_BOUNDS, type OptionFacts, type RuleFacts, type RuleSpec, ruleCatalogue } from 'sluice/rules'
import Type, { type Static, type TSchema } from 'typebox'
import { LIMITS } from '../contract/limits.ts'

export type { RuleSpec } from 'sluice/rules'

/** Pattern of the name of a policy or a rule. A name is used in headers, metrics and paths. Its characters are safe in all of them. */
export const NAME = '^[A-Za-z0-9][A-Za-z0-9._:-]*$'

const Name = Type.String({
  title: `a name of 1 to ${LIMITS.longestName} letters, digits and . _ : - that begins with a letter or digit`,
  minLength: 1,
  maxLength: LIMITS.longestName,
  pattern: NAME,
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

/** Returns the schema of units. A `limit` of 0 is allowed in a policy: such a rule denies every request. */
function unitsSchema(name: string, description: string) {
  const minimum = name === 'limit' ? 0 : OPTION_BOUNDS.units.least
  return Type.Integer({
    minimum,
    maximum: OPTION_BOUNDS.units.most,
    title: `a whole number of at least ${minimum}`,
    description,
  })
}

const TEXT = { minLength: OPTION_BOUNDS.text.least, maxLength: OPTION_BOUNDS.text.most }

const RuleName = Type.String({
  ...Name,
  description: 'Name of the rule in answers. Usage is kept under it. Default: `rule-` and a number, such as rule-1.',
})

const strict = { additionalProperties: false } as const

/** Names that a rule can count by, beside attributes. An attribute cannot have them. */
export const REQUEST_KEYS = ['client', 'route'] as const

const ATTRIBUTE = '[a-z][a-z0-9_.-]{0,63}'

/** Pattern of the name of an attribute. `client` and `route` are no attributes: every request has them. */
export const ATTRIBUTE_NAME = `^(?!(?:${REQUEST_KEYS.join('|')})$)${ATTRIBUTE}$`

export const AttributeName = Type.String({
  title: 'a name of up to 64 characters, a-z, 0-9 and _ . - that begins with a letter, other than client and route',
  pattern: ATTRIBUTE_NAME,
})

const PerName = Type.String({
  title: 'client, route or the name of an attribute',
  pattern: `^${ATTRIBUTE}$`,
})

const Per = Type.Union([PerName, Type.Array(PerName, { maxItems: LIMITS.mostAttributes, title: 'a list of up to 16 names' })], {
  title: 'client, route or the name of an attribute, or a list of them',
  description:
    'Keys that are counted by: any of `client`, `route` and names of attributes. `[]` is one counter for everybody. Default: ' +
    'as `scope` says. A request without one of the attributes does not match the policy.',
})

/** Returns the schema of a rule that is written as an object. Its options come from the catalogue. */
function ruleSchema({ algorithm, options }: RuleFacts): TSchema {
  const properties = options.map((option) => [option.name, optionSchema(option)])
  return Type.Object(
    {
      algorithm: Type.Literal(algorithm),
      ...Object.fromEntries(properties),
      name: Type.Optional(RuleName),
      per: Type.Optional(Per),
    },
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
      return optionalUnless(option.sameAs === undefined, unitsSchema(option.name, description))
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

/** `enforce`: decides. `shadow`: counts and reports, but allows everything. `off`: does not count. `deny`: denies everything. */
export const POLICY_MODES = ['enforce', 'shadow', 'off', 'deny'] as const

/** `most-specific`: decides alone, if no policy is more specific. `always`: joins the decision of every request that it matches. */
export const POLICY_APPLIES = ['most-specific', 'always'] as const

const Where = Type.Unsafe<Readonly<Record<string, string>>>(
  Type.Object(
    {},
    {
      title: 'an object of patterns by name of attribute',
      description: 'Conditions on attributes, as patterns. The policy matches requests that meet all of them.',
      propertyNames: AttributeName,
      additionalProperties: pattern('a value', LIMITS.longestValue),
      maxProperties: LIMITS.mostAttributes,
      examples: [{ plan: 'free', region: 'eu*' }],
    },
  ),
)

export const PolicySpecSchema = Type.Object(
  {
    name: Name,
    client: Type.Optional(pattern('a client', LIMITS.longestClientId)),
    route: Type.Optional(pattern('a route', LIMITS.longestRoute)),
    where: Type.Optional(Where),
    applies: Type.Optional(
      Type.Enum([...POLICY_APPLIES], {
        description:
          'most-specific (default): decides if no policy that matches is more specific. always: joins the decision of every request that it matches.',
      }),
    ),
    rules: Type.Optional(Rules),
    mode: Type.Optional(
      Type.Enum([...POLICY_MODES], {
        description:
          'enforce (default): decides. shadow: counts and reports, and denies nothing. off: counts nothing. deny: denies every request, ' +
          'and needs no rules.',
      }),
    ),
    scope: Type.Optional(
      Type.Enum(['route', 'policy'], {
        description:
          'route (default): each client has the limit on each route. policy: each client has it over all routes of the policy. ' +
          'If clients choose their routes, as behind a proxy, only policy limits a client.',
      }),
    ),
    per: Type.Optional(Per),
    expires_at: Type.Optional(
      Type.String({
        title: 'a time such as 2027-01-31T08:00:00Z or 2027-01-31T08:00:00+01:00',
        pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,3})?(Z|[+-][0-9]{2}:[0-9]{2})$',
        description: 'The time from which the policy is not in force any more. It stays listed until it is deleted.',
      }),
    ),
    reason: Type.Optional(
      Type.String({
        title: 'a text of 1 to 256 characters without control characters',
        minLength: 1,
        maxLength: 256,
        pattern: '^[^\\u0000-\\u001f\\u007f]*$',
        description: 'The reason for the policy, such as that of a block.',
      }),
    ),
    show_reason: Type.Optional(
      Type.Boolean({ description: 'True: callers that the policy denies see `reason`. Default: false.' }),
    ),
  },
  { ...strict, title: 'a policy' },
)

/** A policy as people write it, in JSON or YAML. */
export type PolicySpec = Static<typeof PolicySpecSchema>
