// A policy: which requests get which rules, and in which mode; from the form that people write to one that can decide.
// What must stay true: a policy never changes; what is changed is which policies there are.

import type { Rule } from 'sluice'
import { type Problem, ServerError } from '../errors.ts'
import { checkInput, refuse, within } from '../input/check-input.ts'
import { show } from '../input/near-word.ts'
import { readRules } from './policy-rules.ts'
import { type PolicySpec, PolicySpecSchema, type RuleSpec } from './policy-schema.ts'

export type { PolicySpec, RuleSpec } from './policy-schema.ts'

/** `enforce`: decides. `shadow`: counts and tells, but lets everything through. `off`: does not even count. */
export type PolicyMode = 'enforce' | 'shadow' | 'off'

/** What is counted: each client and route, or each client over all routes of the policy. */
export type PolicyScope = 'route' | 'policy'

/** Where a policy was made: in the program, by the API, or in the configuration file. */
export type PolicySource = 'built-in' | 'api' | 'file'

/** What was written, with its defaults filled in and its rules as a list. */
export interface FullPolicySpec extends Required<PolicySpec> {
  rules: (string | RuleSpec)[]
}

export interface Policy {
  readonly name: string
  readonly client: string
  readonly route: string
  /** In their order, with names that are unique in the policy. */
  readonly rules: readonly Rule[]
  readonly mode: PolicyMode
  readonly scope: PolicyScope
  readonly source: PolicySource
  /** What is listed, kept and written again. */
  readonly spec: Readonly<FullPolicySpec>
}

/** The name of the policy for all that no other covers. */
export const DEFAULT_POLICY = 'default'

/** Makes a policy of a spec; throws ERR_INPUT with everything that is wrong. `at` is where it stands, if inside a file. */
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
  const rules = readRules(full.rules, within(at, 'rules'), problems)
  refuse(what, problems)
  return Object.freeze({ name, client, route, rules: Object.freeze(rules), mode, scope, source, spec: Object.freeze(full) })
}

/** Makes policies that belong together; throws ERR_INPUT with everything that is wrong with any of them. */
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

/** A counter per client and route: 100 a minute, on the clock. */
export const builtInDefault: Policy = readPolicy(
  { name: DEFAULT_POLICY, rules: { algorithm: 'fixed-window', limit: 100, window: '60s', anchor: 'clock' } },
  'built-in',
)
