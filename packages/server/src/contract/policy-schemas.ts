// Schemas of requests and responses about policies.

import Type, { type TSchema } from 'typebox'
import { type PolicySpec, PolicySpecSchema } from '../policies/policy-schema.ts'
import { LIMITS } from './limits.ts'
import { Cursor, Next, named, strict } from './schemas.ts'

/** A policy's spec in a request. Its name comes from the path. */
const { name: PolicyName, rules, ...properties } = PolicySpecSchema.properties

export { PolicyName }

/** The rules of a policy, with a name for each form, so that the document has each form once. */
function namedRules(): TSchema {
  const forms = (rules as unknown as { readonly anyOf: readonly RuleForm[] }).anyOf
  const list = forms.find(({ type }) => type === 'array') as RuleForm
  const one = forms
    .filter((form) => form !== list)
    .map((form) => (form.properties === undefined ? form : { ...form, ...named(ruleName(form.properties.algorithm)) }))
  const Rule = { anyOf: one, ...named('Rule') }
  return { ...rules, anyOf: [Rule, { ...list, items: Rule }], ...named('Rules') }
}

/** `fixed-window` becomes `FixedWindowRule`. */
function ruleName(algorithm: { readonly enum?: readonly string[]; readonly const?: string }): string {
  const words = (algorithm.const ?? algorithm.enum?.[0] ?? '').split('-')
  return `${words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('')}Rule`
}

interface RuleForm {
  readonly type?: string
  readonly properties?: { readonly algorithm: { readonly enum?: readonly string[]; readonly const?: string } }
}

const Rules = Type.Unsafe<NonNullable<PolicySpec['rules']>>(namedRules())

export const PolicyBody = Type.Object(
  { name: Type.Optional(PolicyName), ...properties, rules: Type.Optional(Rules) },
  { ...strict, ...named('PolicySpec') },
)

export const PolicyView = Type.Object(
  {
    name: PolicyName,
    ...properties,
    rules: Type.Optional(Rules),
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
