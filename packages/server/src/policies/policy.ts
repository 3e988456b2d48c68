// A policy: the requests it applies to, its rules and its mode. Converts the written form to one that can decide.
// Invariant: a policy object never changes. A change replaces it by another object.

import type { Rule } from 'sluice'
import { type Problem, ServerError } from '../errors.ts'
import { checkInput, refuse, within } from '../input/check-input.ts'
import { show } from '../input/near-word.ts'
import { readRules } from './policy-rules.ts'
import { type PolicySpec, PolicySpecSchema, type RuleSpec } from './policy-schema.ts'

export type { PolicySpec, RuleSpec } from './policy-schema.ts'

/** `enforce`: decides. `shadow`: counts and reports, but allows everything. `off`: does not count. */
export type PolicyMode = 'enforce' | 'shadow' | 'off'

/** The unit of counting: each client and route, or each client over all routes of the policy. */
export type PolicyScope = 'route' | 'policy'

/** The source of a policy: the program, the API, or the configuration file. */
export type PolicySource = 'built-in' | 'api' | 'file'

/** The written form with defaults filled in and rules as a list. */
export interface FullPolicySpec extends Required<PolicySpec> {
  rules: (string | RuleSpec)[]
}

export interface Policy {
  readonly name: string
  readonly client: string
  readonly route: string
  /** In their written order, with unique names. */
  readonly rules: readonly Rule[]
  readonly mode: PolicyMode
  readonly scope: PolicyScope
  readonly source: PolicySource
  /** The listed and stored form. */
  readonly spec: Readonly<FullPolicySpec>
}

/** The name of the policy for all requests that no other policy covers. */
export const DEFAULT_POLICY = 'default'

/** Creates a policy from a spec. Throws ERR_INPUT with all problems. `at` is its place in a file. */
export function readPolicy(spec: unknown, source: PolicySource, at = ''): Policy {
  const what = at === '' ? 'the policy' : 'policies'
  checkInput(PolicySpecSchema, spec, what, at)
  const { name, client = '*', route = '*', rules: written, mode = 'enforce', scope = 'route' } = spec
  const full: FullPolicySpec = { name, client, route, rules: [written].flat(), mode, scope }
  const problems: Problem[] = []
  if ((name === DEFAULT_POLICY) !== (client === '*' && route === '*')) {
    const message =
      name === DEFAULT_POLICY
        ? `the policy called ${DEFAULT_POLICY} covers all clients and routes: leave out client and route, or set both to *`
        : `the policy ${show(name)} needs a client or a route: the one for all clients and routes is called ${DEFAULT_POLICY}`
    problems.push({ at: within(at, 'name'), message })
  }
  const rules = readRules(written, within(at, 'rules'), problems)
  refuse(what, problems)
  return Object.freeze({ name, client, route, rules: Object.freeze(rules), mode, scope, source, spec: Object.freeze(full) })
}

/** Creates several policies. Throws ERR_INPUT with all problems, including policies that share a name or both patterns. */
export function readPolicies(specs: readonly unknown[], source: PolicySource, at: string): readonly Policy[] {
  const problems: Problem[] = []
  const policies: Policy[] = []
  const places = new Map<string, string>()
  specs.forEach((spec, i) => {
    const place = within(at, i)
    try {
      const policy = readPolicy(spec, source, place)
      policies.push(policy)
      for (const shared of [{ name: policy.name }, { client: policy.client, route: policy.route }]) {
        const mark = JSON.stringify(shared)
        const other = places.get(mark)
        if (other === undefined) places.set(mark, place)
        else problems.push({ at: place, message: `${place} has the ${Object.keys(shared).join(' and ')} of ${other}` })
      }
    } catch (error) {
      if (!(error instanceof ServerError)) throw error
      problems.push(...error.problems)
    }
  })
  refuse(at, problems)
  return policies
}

/** 100 requests a minute for each client and route, in windows of the clock. */
export const builtInDefault: Policy = readPolicy(
  { name: DEFAULT_POLICY, rules: { algorithm: 'fixed-window', limit: 100, window: '60s', anchor: 'clock' } },
  'built-in',
)
