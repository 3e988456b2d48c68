// Finds policies by their conditions on attributes, among policies with the same client and route pattern. It is a tree: each level is
// one condition, in the order of attributes.
// Invariant: a search looks only at branches whose conditions the request meets, however many policies there are.

import type { Condition } from './conditions.ts'
import { compareConditions } from './conditions.ts'
import { PatternIndex } from './pattern-index.ts'
import type { Policy } from './policy.ts'
import type { Attributes } from './request-facts.ts'

const NO_ATTRIBUTES: Attributes = {}

export class ConditionIndex {
  /** Policies whose conditions end here. Several only if they apply always. */
  #policies: readonly Policy[] = []
  /** Branches by the attribute of the next condition. */
  #next: Map<string, PatternIndex<ConditionIndex>> | undefined

  get isEmpty(): boolean {
    return this.#policies.length === 0 && this.#next === undefined
  }

  /** Returns the most specific policy whose conditions are met. */
  find(attributes: Attributes | undefined): Policy | undefined {
    if (this.#next === undefined || attributes === undefined) return this.#policies[0]
    const found: Policy[] = []
    this.addAll(attributes, found)
    return found.length === 0 ? undefined : found.reduce((best, each) => (compareConditions(each, best) < 0 ? each : best))
  }

  /** Adds all policies whose conditions are met to `found`. */
  addAll(attributes: Attributes = NO_ATTRIBUTES, found: Policy[]): void {
    for (const policy of this.#policies) found.push(policy)
    if (this.#next === undefined) return
    for (const attribute of Object.keys(attributes)) {
      this.#next.get(attribute)?.each(attributes[attribute], (branch) => branch.addAll(attributes, found))
    }
  }

  /** Returns the policies with exactly these conditions. */
  get(conditions: readonly Condition[], at = 0): readonly Policy[] {
    if (at === conditions.length) return this.#policies
    const { attribute, pattern } = conditions[at]
    return (
      this.#next
        ?.get(attribute)
        ?.get(pattern)
        ?.get(conditions, at + 1) ?? []
    )
  }

  add(policy: Policy, at = 0): void {
    const { conditions } = policy
    if (at === conditions.length) {
      this.#policies = [...this.#policies, policy]
      return
    }
    const { attribute, pattern } = conditions[at]
    this.#next ??= new Map()
    const patterns = this.#next.get(attribute) ?? new PatternIndex()
    this.#next.set(attribute, patterns)
    patterns.getOrMake(pattern, makeIndex).add(policy, at + 1)
  }

  delete(policy: Policy, at = 0): void {
    const { conditions } = policy
    if (at === conditions.length) {
      this.#policies = this.#policies.filter((each) => each !== policy)
      return
    }
    const { attribute, pattern } = conditions[at]
    const patterns = this.#next?.get(attribute)
    const branch = patterns?.get(pattern)
    branch?.delete(policy, at + 1)
    if (branch?.isEmpty) patterns?.delete(pattern)
    if (patterns?.isEmpty) this.#next?.delete(attribute)
    if (this.#next?.size === 0) this.#next = undefined
  }
}

export function makeIndex(): ConditionIndex {
  return new ConditionIndex()
}
