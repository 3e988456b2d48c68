// Schemas of requests and responses about policies.

import Type from 'typebox'
import { type PolicySpec, PolicySpecSchema, type RuleSpec } from '../policies/policy-schema.ts'
import { LIMITS } from './limits.ts'
import { Cursor, Next, named, strict, Time, Whole } from './schemas.ts'

/** A policy's spec in a request. Its name comes from the path. */
const { name: PolicyName, rules, ...properties } = PolicySpecSchema.properties

export { PolicyName }

interface RuleForm {
  readonly type?: string
  readonly properties?: { readonly algorithm: { readonly enum?: readonly string[]; readonly const?: string } }
}

/** `fixed-window` becomes `FixedWindowRule`. */
function ruleName(algorithm: { readonly enum?: readonly string[]; readonly const?: string }): string {
  const words = (algorithm.const ?? algorithm.enum?.[0] ?? '').split('-')
  return `${words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('')}Rule`
}

const forms = (rules as unknown as { readonly anyOf: readonly RuleForm[] }).anyOf
const list = forms.find(({ type }) => type === 'array') as RuleForm

/** One rule. Each form has a name, so that the document has it once. */
const Rule = {
  anyOf: forms
    .filter((form) => form !== list)
    .map((form) => (form.properties === undefined ? form : { ...form, ...named(ruleName(form.properties.algorithm)) })),
  ...named('Rule'),
}

const RuleList = Type.Unsafe<(string | RuleSpec)[]>({ ...list, items: Rule })

const Rules = Type.Unsafe<NonNullable<PolicySpec['rules']>>({ ...rules, anyOf: [Rule, RuleList], ...named('Rules') })

export const PolicyBody = Type.Object(
  { name: Type.Optional(PolicyName), ...properties, rules: Type.Optional(Rules) },
  { ...strict, ...named('PolicySpec') },
)

const { client, route, mode, scope } = properties

/** Fields that every listed policy has. */
const filledIn = Type.Required(Type.Object({ client, route, mode, scope })).properties

export const PolicyView = Type.Object(
  {
    name: PolicyName,
    ...properties,
    ...filledIn,
    rules: Type.Optional(RuleList),
    source: Type.Enum(['built-in', 'api', 'file'], { description: 'The source of the policy.' }),
    expired: Type.Optional(
      Type.Literal(true, { description: 'Its time is over: it is not in force, and stays listed until it is deleted.' }),
    ),
    etag: Type.String({ description: 'Changes when the policy changes. For `If-Match`, including the quotes.' }),
  },
  named('Policy'),
)

export const PolicyPage = Type.Object(
  {
    policies: Type.Array(PolicyView),
    total: Type.Integer({ description: 'Number of policies that match the search, on all pages.' }),
    next: Next,
  },
  named('PolicyPage'),
)

export const PolicyQuery = Type.Object(
  {
    search: Type.Optional(Type.String({ maxLength: 256, description: 'Text to find in the name, client or route.' })),
    after: Type.Optional(Cursor),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMITS.mostListed, description: 'Policies at most; 100 by default.' }),
    ),
  },
  strict,
)

/** Policies are named by their paths. */
export const PolicyPath = Type.Object({ name: PolicyName }, strict)

/** Preconditions for a change. */
export const IfMatch = Type.String({
  description: 'Change the policy only if it still has this `etag`. `*`: only if it exists.',
})
export const IfNoneMatch = Type.String({ description: '`*`: add the policy only if none with this name exists.' })

const FirstCheck = Type.Union([Time, Type.Null()], { description: 'Time of the first check; null if there was none.' })

const ShadowDenied = Type.Integer({ minimum: 0, description: 'Checks that it would have denied.' })

/** Denials that a policy in shadow mode would have made, on all instances together. */
export const ShadowView = Type.Object(
  {
    policy: PolicyName,
    etag: Type.String({ description: 'That of the policy. For `If-Match`, to enforce exactly what was reported.' }),
    since: FirstCheck,
    checks: Whole,
    denied: ShadowDenied,
    rules: Type.Array(Type.Object({ name: Type.String(), denied: Whole }), { description: 'The rules that would have denied.' }),
    clients: Type.Array(
      Type.Object({
        client_id: Type.String(),
        denied: Type.Integer({ minimum: 0, description: 'Never too low.' }),
        error: Type.Integer({ minimum: 0, description: 'The most by which `denied` may be too high.' }),
      }),
      { description: 'The clients that it would have denied most.' },
    ),
    unlisted_at_most: Type.Integer({ minimum: 0, description: 'Upper bound for the denials of any client that is not listed.' }),
    instances: Type.Array(
      Type.Object({
        id: Type.String(),
        self: Type.Boolean({ description: 'True for the instance that answers.' }),
        since: FirstCheck,
        checks: Whole,
        denied: ShadowDenied,
      }),
      { description: 'The instances that are up and whose counts are in the sums, the answering one first.' },
    ),
    uncounted_instances: Type.Integer({
      minimum: 0,
      description:
        'Instances whose counts are not in the sums: they have another version, or more policies in shadow mode than a report has.',
    }),
    problem: Type.Union([Type.String(), Type.Null()], {
      description: 'The reason why the counts of other instances are not known now; null if they are.',
    }),
  },
  named('ShadowReport'),
)

export const ShadowQuery = Type.Object(
  { limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: 'Clients at most; 20 by default.' })) },
  strict,
)
