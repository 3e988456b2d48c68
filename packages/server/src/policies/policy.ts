// A policy: the requests it applies to, its rules and its mode. Converts the written form to one that can decide.
// Invariant: a policy object never changes. A change replaces it by another object.

import type { Rule } from 'sluice'
import { type Problem, ServerError } from '../errors.ts'
import { checkInput, refuse, within } from '../input/check-input.ts'
import { show } from '../input/near-word.ts'
import { type Conditional, conditionsOf, conditionsText } from './conditions.ts'
import { type PolicyRules, readRules } from './policy-rules.ts'
import { type POLICY_APPLIES, type POLICY_MODES, type PolicySpec, PolicySpecSchema, type RuleSpec } from './policy-schema.ts'
import { timeOf } from './policy-time.ts'

export type { PolicySpec, RuleSpec } from './policy-schema.ts'

export type PolicyMode = (typeof POLICY_MODES)[number]

export type PolicyApplies = (typeof POLICY_APPLIES)[number]

/** The unit of counting: each client and route, or each client over all routes of the policy. */
export type PolicyScope = 'route' | 'policy'

/** The source of a policy: the program, the API, or the configuration file. */
export type PolicySource = 'built-in' | 'api' | 'file'

/** Fields that are filled in if they are not written. */
type FilledIn = 'client' | 'route' | 'mode' | 'scope'

/** The written form with defaults filled in and rules as a list. */
export interface FullPolicySpec extends Omit<PolicySpec, FilledIn>, Required<Pick<PolicySpec, FilledIn>> {
  rules?: (string | RuleSpec)[]
}

export interface Policy extends Conditional {
  readonly name: string
  readonly client: string
  readonly route: string
  readonly applies: PolicyApplies
  /** In their written order, with unique names, without those of limit 0. */
  readonly rules: readonly Rule[]
  /** The keys that a rule counts by, by its name. Rules that count as `scope` says are left out. */
  readonly per: ReadonlyMap<string, readonly string[]>
  /** The first rule with limit 0, which denies every request. */
  readonly closedBy: string | undefined
  readonly mode: PolicyMode
  readonly scope: PolicyScope
  /** True if all rules count by the same key, as `scope` says, and no rule has the limit 0. */
  readonly isPlain: boolean
  /** The policy is in force before this time. Infinity if it does not expire. */
  readonly expiresAtMs: number
  /** The reason that callers see, as a JSON string in ASCII. */
  readonly shownReason: string | undefined
  readonly source: PolicySource
  /** The listed and stored form. */
  readonly spec: Readonly<FullPolicySpec>
}

/** The name of the policy for all requests that no other policy covers. */
export const DEFAULT_POLICY = 'default'

/** True if the policy denies every request. Then nothing is counted. */
export function isBlock({ mode, closedBy }: Pick<Policy, 'mode' | 'closedBy'>): boolean {
  return mode === 'deny' || (mode === 'enforce' && closedBy !== undefined)
}

/** Creates a policy from a spec. Throws ERR_INPUT with all problems. `at` is its place in a file. */
export function readPolicy(spec: unknown, source: PolicySource, at = ''): Policy {
  const what = at === '' ? 'the policy' : 'policies'
  checkInput(PolicySpecSchema, spec, what, at)
  const { name, client = '*', route = '*', where = {}, applies = 'most-specific', mode = 'enforce', scope = 'route' } = spec
  const problems: Problem[] = []
  const read = rulesOf(spec, at, problems)
  const conditions = conditionsOf(where, [...read.per.values()].flat())
  checkName({ name, client, route, applies, conditions }, at, problems)
  const expiresAtMs = timeOf(spec.expires_at, within(at, 'expires_at'), problems)
  if (spec.show_reason === true && spec.reason === undefined) {
    const reason = within(at, 'reason')
    problems.push({ at: reason, message: `${reason} is missing: show_reason shows it to callers` })
  }
  refuse(what, problems)
  return Object.freeze({
    name,
    client,
    route,
    conditions,
    applies,
    ...read,
    mode,
    scope,
    isPlain: applies === 'most-specific' && mode !== 'deny' && read.per.size === 0 && read.closedBy === undefined,
    expiresAtMs,
    shownReason: spec.show_reason === true ? asciiText(spec.reason) : undefined,
    source,
    spec: Object.freeze(fullSpec(spec)),
  })
}

/** Returns the spec with the fields in a fixed order. Fields that are not written and have no effect are left out. */
function fullSpec(spec: PolicySpec): FullPolicySpec {
  const { name, client = '*', route = '*', rules, mode = 'enforce', scope = 'route', ...others } = spec
  return { name, client, route, ...(rules !== undefined && { rules: [rules].flat() }), mode, scope, ...others }
}

function rulesOf({ rules, per, mode }: PolicySpec, at: string, problems: Problem[]): PolicyRules {
  const path = within(at, 'rules')
  if (rules !== undefined) return readRules({ rules, per }, path, problems)
  if (mode !== 'deny') problems.push({ at: path, message: `${path} is missing: only a policy with mode deny needs none` })
  return { rules: [], per: new Map(), closedBy: undefined }
}

/** Only the policy called `default` covers every request, so that there is always one that matches. */
function checkName(
  { name, client, route, applies, conditions }: Pick<Policy, 'name' | 'client' | 'route' | 'applies' | 'conditions'>,
  at: string,
  problems: Problem[],
): void {
  const coversAll = client === '*' && route === '*' && conditions.length === 0
  if (name === DEFAULT_POLICY && coversAll && applies === 'most-specific') return
  if (name !== DEFAULT_POLICY && (!coversAll || applies === 'always')) return
  const message =
    name === DEFAULT_POLICY
      ? `the policy called ${DEFAULT_POLICY} covers all clients and routes: leave out client, route, where and applies, and count by no attribute`
      : `the policy ${show(name)} needs a client or a route, a condition in where, or applies: always: the one for all clients and routes is called ${DEFAULT_POLICY}`
  problems.push({ at: within(at, 'name'), message })
}

/** Returns a JSON string in ASCII, so that its length in characters is its length in bytes. */
function asciiText(text: string | undefined): string {
  return JSON.stringify(text).replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
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
      for (const [what, mark] of marksOf(policy)) {
        const other = places.get(mark)
        if (other === undefined) places.set(mark, place)
        else problems.push({ at: place, message: `${place} has the ${what} of ${other}` })
      }
    } catch (error) {
      if (!(error instanceof ServerError)) throw error
      problems.push(...error.problems)
    }
  })
  refuse(at, problems)
  return policies
}

/** Returns what no two policies share, each as words and as a text. */
function marksOf({ name, client, route, conditions, applies }: Policy): readonly (readonly [string, string])[] {
  const ofName = ['name', `n${name}`] as const
  if (applies === 'always') return [ofName]
  const words = conditions.length === 0 ? 'client and route' : 'client, route and conditions'
  return [ofName, [words, `p${JSON.stringify([client, route, conditionsText(conditions)])}`]]
}

/** 100 requests a minute for each client and route, in windows of the clock. */
export const builtInDefault: Policy = readPolicy(
  { name: DEFAULT_POLICY, rules: { algorithm: 'fixed-window', limit: 100, window: '60s', anchor: 'clock' } },
  'built-in',
)
