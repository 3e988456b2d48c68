// One limiter over the rules of several policies, or of one whose rules count by different keys. A call is one decision over all rules.
// Invariant: a rule counts under the same state here and in every other limiter that has it. So counts stay when another policy starts
// or stops to apply to a request.

import type { Cost, Limiter, Rule, Subject } from 'sluice'
import type { Responder } from 'sluice/http'
import type { Policy } from '../policies/policy.ts'
import type { CheckedRequest } from '../stats/stats.ts'
import type { CheckRequest } from './check-request.ts'
import { countedKey, keyPer, PER_OF_SCOPE } from './counted-key.ts'
import { jointResponder } from './joint-responder.ts'
import type { KeyedRule, LimiterMaker } from './limiter-maker.ts'

/** The request of a check. `countedRoute` stands for the route under the built-in policy. */
export type CountedRequest = Omit<CheckRequest, 'cost'> & Pick<CheckedRequest, 'countedRoute'>

type KeyOf = (request: CountedRequest) => string

/** A rule with its policy. */
export interface RuleOfPolicy {
  readonly policy: Policy
  readonly rule: Rule
  /** Name of the rule in decisions: that of the rule, or `policy/rule` for a policy that always applies. */
  readonly label: string
}

export class JointLimiter {
  readonly rules: readonly RuleOfPolicy[]
  /** The policies of the rules, each once. */
  readonly policies: readonly Policy[]
  readonly limiter: Limiter<'sync' | 'async', Subject>
  /** Writes the headers for its decisions. */
  readonly responder: Responder
  /** A policy with a rule that has nothing but holds, so that a request can only be reserved. */
  readonly heldBy: Policy | undefined
  readonly #keys: readonly KeyOf[]
  readonly #byLabel: ReadonlyMap<string, RuleOfPolicy>

  /** Precondition: there is at least one rule. */
  constructor(rules: readonly RuleOfPolicy[], maker: LimiterMaker) {
    const slots = new Map<string, { readonly slot: number; readonly keyOf: KeyOf }>()
    const keyed = rules.map(({ policy, rule, label }): KeyedRule => {
      const per = perOf(policy, rule)
      const id = JSON.stringify([policy.name, per])
      const known = slots.get(id) ?? { slot: slots.size, keyOf: keyMaker(policy, per) }
      slots.set(id, known)
      return { rule, label, slot: known.slot }
    })
    this.rules = rules
    this.policies = [...new Set(rules.map(({ policy }) => policy))]
    this.limiter = maker.makeKeyed(keyed)
    this.responder = jointResponder(this.limiter.rules)
    this.heldBy = rules.find(({ rule }) => rule.isHeld)?.policy
    this.#keys = [...slots.values()].map(({ keyOf }) => keyOf)
    this.#byLabel = new Map(rules.map((each) => [each.label, each]))
  }

  /** Returns the limiter's subject for a request: the keys of its rules. */
  subjectOf(request: CountedRequest): Subject {
    const subject: Record<string, string> = {}
    for (let i = 0; i < this.#keys.length; i++) subject[i] = this.#keys[i](request)
    return subject
  }

  /** Returns the policy of a rule. Precondition: the limiter has the rule. */
  policyOf(label: string): Policy {
    return (this.#byLabel.get(label) as RuleOfPolicy).policy
  }

  /**
   * Returns units by label. A caller may name a rule without its policy: then the units hold for each rule of that name. Unknown names
   * are kept, so that the limiter refuses them.
   */
  unitsOf(units: Cost): Cost {
    if (typeof units === 'number') return units
    const byLabel = new Map<string, number>()
    for (const { rule, label } of this.rules) if (Object.hasOwn(units, rule.name)) byLabel.set(label, units[rule.name])
    const named = new Set(this.rules.map(({ rule }) => rule.name))
    // A label says more than the name of a rule.
    for (const [name, amount] of Object.entries(units)) if (!named.has(name)) byLabel.set(name, amount)
    return Object.fromEntries(byLabel)
  }

  /** Like `unitsOf`, without names of other limiters. */
  ownUnits(units: Cost): Cost {
    if (typeof units === 'number') return units
    return Object.fromEntries(Object.entries(this.unitsOf(units)).filter(([label]) => this.#byLabel.has(label)))
  }

  /** Like `unitsOf`, without names that only one of the others has. */
  unitsBeside(others: readonly JointLimiter[], units: Cost): Cost {
    if (typeof units === 'number') return units
    const isOfOther = (name: string): boolean => others.some((other) => other.#names(name))
    return Object.fromEntries(
      Object.entries(this.unitsOf(units)).filter(([label]) => this.#byLabel.has(label) || !isOfOther(label)),
    )
  }

  close(): void {
    this.limiter.close()
  }

  /** True for the name of a rule, or its label. */
  #names(name: string): boolean {
    return this.rules.some(({ rule, label }) => rule.name === name || label === name)
  }
}

/** Returns the rules of a policy with their labels. */
export function labelledRules(policy: Policy): readonly RuleOfPolicy[] {
  return policy.rules.map((rule) => ({ policy, rule, label: labelOf(policy, rule.name) }))
}

export function labelOf({ applies, name }: Pick<Policy, 'applies' | 'name'>, rule: string): string {
  // Neither names of policies nor of rules have a slash.
  return applies === 'always' ? `${name}/${rule}` : rule
}

/** Returns the keys that a rule counts by; undefined if it counts as the scope says, under the route alone or the policy. */
function perOf({ applies, per, scope }: Policy, { name }: Rule): readonly string[] | undefined {
  return per.get(name) ?? (applies === 'always' ? PER_OF_SCOPE[scope] : undefined)
}

/** True if no other client counts on the same state of the rule. */
export function isOfClient(policy: Policy, rule: Rule): boolean {
  return perOf(policy, rule)?.includes('client') ?? true
}

function keyMaker(policy: Policy, per: readonly string[] | undefined): KeyOf {
  if (per !== undefined) return (request) => keyPer(policy, per, request)
  if (policy.source !== 'built-in') return ({ clientId, route }) => countedKey(policy, clientId, route)
  return ({ clientId, route, countedRoute = route }) => countedKey(policy, clientId, countedRoute)
}
