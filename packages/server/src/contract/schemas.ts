// Schemas of requests and responses, for validation and for the OpenAPI document.

import Type, { type TSchema } from 'typebox'
import { AttributeName, POLICY_MODES } from '../policies/policy-schema.ts'
import { LIMITS } from './limits.ts'

export const strict = { additionalProperties: false } as const

/** Gives a schema a name. In the OpenAPI document a named schema stands once, and uses refer to it. */
export const named = (name: string) => ({ 'x-name': name })

/** Marks the schema of a body that may be left out. */
export const optionalBody = { 'x-optional': true }

/** Bounds of a text, and their description in messages. */
export const text = (most: number) => ({ title: `text of 1 to ${most} characters`, minLength: 1, maxLength: most })

export const ClientId = Type.String({ ...text(LIMITS.longestClientId), description: 'The client to count.', examples: ['acme'] })
export const Route = Type.String({
  ...text(LIMITS.longestRoute),
  description: 'The route that is requested.',
  examples: ['/v1/orders'],
})

export const AttributesOf = Type.Unsafe<Readonly<Record<string, string>>>(
  Type.Object(
    {},
    {
      title: `an object of up to ${LIMITS.mostAttributes} texts by name`,
      description: 'Facts about the request, for policies with `where` and rules with `per`.',
      propertyNames: AttributeName,
      additionalProperties: Type.String({
        title: `text of up to ${LIMITS.longestValue} characters`,
        maxLength: LIMITS.longestValue,
      }),
      maxProperties: LIMITS.mostAttributes,
      examples: [{ plan: 'free', org: 'acme' }],
    },
  ),
)

/** Selects the policies and the counters of a request. */
export const facts = { client_id: ClientId, route: Route, attributes: Type.Optional(AttributesOf) }

export const Cost = Type.Integer({
  title: 'a whole number of at least 1',
  description: 'Units to spend; 1 by default.',
  minimum: 1,
  maximum: LIMITS.mostUnits,
})

export const Check = Type.Object({ ...facts, cost: Type.Optional(Cost) }, { ...strict, ...named('Check') })

export const Batch = Type.Object(
  {
    checks: Type.Array(Check, { title: `a list of 1 to ${LIMITS.mostChecks} checks`, minItems: 1, maxItems: LIMITS.mostChecks }),
  },
  { ...strict, ...named('Batch') },
)

export const Pair = Type.Object(facts, { ...strict, ...named('Counter') })

export const UsageQuery = Type.Object(
  {
    client_id: ClientId,
    route: Route,
    attributes: Type.Optional(
      Type.String({
        title: 'an object in JSON',
        maxLength: LIMITS.longestAttributes,
        description: 'The attributes of the request, as an object in JSON.',
      }),
    ),
    cost: Type.Optional(Cost),
  },
  strict,
)

export const Refund = Type.Object({ ...facts, cost: Type.Optional(Cost) }, { ...strict, ...named('Refund') })

export const SetCount = Type.Object(
  {
    ...facts,
    used: Type.Integer({ title: 'a whole number of at least 0', minimum: 0, maximum: LIMITS.mostUnits }),
    rule: Type.Optional(
      Type.String({
        ...text(129),
        description: 'Name of the rule, or `policy/rule` for a policy that always applies. Default: the first rule.',
      }),
    ),
  },
  { ...strict, ...named('SetCount') },
)

const Status = Type.Enum(['Allow', 'Deny'])
export const Whole = Type.Integer({ minimum: 0 })

/** The failure mode of an answer that was made without the store. */
function fallback(meaning: string) {
  const description = `Present if the store did not answer: the failure mode that decided. ${meaning}`
  return Type.Optional(Type.Enum(['local', 'allow', 'deny'], { description }))
}

const RetryAfter = Type.Optional(
  Type.Union([Whole, Type.Null()], {
    description: 'For Deny: milliseconds until this cost passes if no other check comes first; null if never.',
  }),
)

export const Answer = Type.Object(
  {
    status: Status,
    limit: Type.Integer({ minimum: 0, description: 'The limit of the rule that speaks; 0 if a policy denies everything.' }),
    remain: Type.Integer({ minimum: 0, description: 'Whole units left now.' }),
    reset_in_second: Type.Integer({ minimum: 0, description: 'Seconds until nothing is counted any more, rounded up.' }),
    shadow_denied: Type.Optional(
      Type.Literal(true, {
        description: 'The rules of a policy deny this; it is allowed because that policy is in shadow mode.',
      }),
    ),
    fallback: fallback('With `allow` and `deny` nothing was counted, so `remain` and `reset_in_second` describe no client.'),
    retryable: Type.Optional(
      Type.Boolean({
        description:
          'For Deny: false if waiting does not help, because the cost is above the limit or the wait is longer than `retryWithinMs`.',
      }),
    ),
    retry_after_ms: RetryAfter,
    policy: Type.String({
      description: 'The policy that speaks: the one that denies, or else the one with the fewest units left.',
    }),
    rule: Type.String({ description: 'Its rule that speaks: `policy/rule` for a policy that always applies.' }),
    reason: Type.Optional(Type.String({ description: 'For Deny: the reason, if the policy shows it.' })),
  },
  named('Answer'),
)

/** Units by rule name, in answers. */
export const UnitsByRule = (description: string) =>
  Type.Unsafe<Readonly<Record<string, number>>>(Type.Object({}, { additionalProperties: Whole, description }))

/** One result of a batch, including a check that could not be decided. */
export const BatchResult = Type.Union([
  Answer,
  Type.Object(
    {
      status: Type.Literal('Error'),
      error: Type.Optional(Type.String({ description: 'A code for programs, if it was not the store that failed.' })),
      message: Type.String({ description: 'Why it could not be decided.' }),
    },
    named('CheckError'),
  ),
])

export const BatchAnswer = Type.Object({ results: Type.Array(BatchResult) }, named('BatchAnswer'))

export const RuleUsage = Type.Object(
  {
    name: Type.String({ description: '`policy/rule` for a policy that always applies.' }),
    policy: Type.String(),
    limit: Type.Integer(),
    used: Whole,
    remain: Whole,
    reset_in_second: Whole,
    retry_after_ms: Type.Union([Whole, Type.Null()], { description: '0 if the cost passes now; null if it never passes.' }),
  },
  named('RuleUsage'),
)

export const Usage = Type.Object(
  {
    client_id: Type.String(),
    route: Type.String(),
    policy: Type.String({ description: 'The policy that speaks, as in the answer to a check.' }),
    mode: Type.Enum([...POLICY_MODES]),
    status: Type.Enum(['Allow', 'Deny'], { description: 'The answer that a check of this cost would get now.' }),
    rules: Type.Array(RuleUsage),
    holds: Type.Object(
      { open: Whole, held: UnitsByRule('Units that they hold, by rule name.') },
      { description: 'Open holds of this counter that the answering instance knows. Their units are part of `used`.' },
    ),
    fallback: fallback(
      'With `local`, `rules` has only what this instance has counted. With `allow` and `deny` its numbers describe no client.',
    ),
  },
  named('Usage'),
)

export const Counted = Type.Object(
  {
    client_id: Type.String(),
    route: Type.String(),
    policy: Type.String(),
    used: Type.Integer({ minimum: 0, description: 'Units used now, of the named rule or the first rule.' }),
  },
  named('Counted'),
)

export const Time = Type.String({ format: 'date-time' })
export const MaybeTime = Type.Union([Time, Type.Null()])

/** The cursor of a page: the `next` of the previous page. */
export const Cursor = Type.String({ maxLength: 256 })

export const Next = Type.Union([Type.String(), Type.Null()], { description: 'The cursor of the next page; null on the last.' })

/** The `meta` of a success, by its status. */
function successMeta(code: 200 | 201) {
  return Type.Object(
    { message: Type.Literal('success'), code: Type.Literal(code), status: Type.Literal('ok') },
    named(code === 200 ? 'Success' : 'Created'),
  )
}

export function envelope<T extends TSchema>(data: T, description: string, code: 200 | 201 = 200) {
  const meta = successMeta(code)
  return Type.Object({ meta, data }, { description })
}

const FailureMeta = Type.Object(
  {
    message: Type.String({ description: 'For people: the problem, the value, and the expected form.' }),
    code: Type.Integer({ description: 'The HTTP status.' }),
    status: Type.Literal('error'),
    error: Type.String({ description: 'A code for programs.', examples: ['ERR_INPUT'] }),
    problems: Type.Optional(Type.Array(Type.Object({ at: Type.String(), message: Type.String() }, named('Problem')))),
  },
  named('FailureMeta'),
)

export const Failure = Type.Object(
  { meta: FailureMeta, data: Type.Null() },
  { description: 'The request failed.', ...named('Failure') },
)

/** A failure with data of its own. */
export function failureEnvelope<T extends TSchema>(data: T, description: string) {
  return Type.Object({ meta: FailureMeta, data }, { description })
}
