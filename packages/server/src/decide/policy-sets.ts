// The policies that apply to one request, sorted by what they do, with their limiters. Sets in use are cached.
// Invariant: the cache is bounded, and dropping a set loses no count; see limiter-maker.ts. A dropped set is not closed: checks under way
// and holds of the fallback go on with its limiters.

import { isBlock, type Policy } from '../policies/policy.ts'
import { JointLimiter, labelledRules } from './joint-limiter.ts'
import type { LimiterMaker } from './limiter-maker.ts'

/** A policy in shadow mode. Without rules that count, a rule of limit 0 denies everything. */
export interface ShadowPolicy {
  readonly policy: Policy
  readonly joint: JointLimiter | undefined
}

/** Maximum number of sets. Each takes about 3 kB, and its rules. */
export const MOST_SETS = 10_000

/** Maximum number of rules in all sets. Each takes about 1 kB, and up to 3 kB if its counter is also read and given back. */
export const MOST_SET_RULES = 30_000

export class PolicySet {
  /** The most specific policy first, then those that always apply, by name. */
  readonly policies: readonly Policy[]
  /** Number of rules of all policies. */
  readonly ruleCount: number
  /** The policy that denies everything and expires last. */
  readonly block: Policy | undefined
  /** All rules of the enforced policies: one decision. */
  readonly enforced: JointLimiter | undefined
  /** Each is decided by itself. */
  readonly shadows: readonly ShadowPolicy[]
  readonly #maker: LimiterMaker
  #counting: JointLimiter | undefined
  #charged: JointLimiter | undefined

  constructor(policies: readonly Policy[], maker: LimiterMaker) {
    this.policies = policies
    this.ruleCount = policies.reduce((sum, { rules }) => sum + rules.length, 0)
    this.#maker = maker
    const blocks = policies.filter(isBlock)
    this.block = blocks.length === 0 ? undefined : blocks.reduce((a, b) => (b.expiresAtMs > a.expiresAtMs ? b : a))
    this.enforced = this.#join(policies.filter(({ mode }) => mode === 'enforce'))
    this.shadows = policies
      .filter(({ mode }) => mode === 'shadow')
      .map((policy) => ({ policy, joint: policy.closedBy === undefined ? this.#join([policy]) : undefined }))
  }

  /** The most specific policy. */
  get primary(): Policy {
    return this.policies[0]
  }

  /** The rules of all policies, whatever their mode, for changes of counters and for holds that were opened under another mode. */
  get counting(): JointLimiter | undefined {
    this.#counting ??= this.#join(this.policies)
    return this.#counting
  }

  /** The rules that a check spends on. */
  get charged(): JointLimiter | undefined {
    this.#charged ??= this.#join(this.policies.filter(({ mode }) => mode === 'enforce' || mode === 'shadow'))
    return this.#charged
  }

  /** Makes a limiter over some of the rules. The caller closes it. */
  joinSome(isWanted: (policy: Policy, rule: Policy['rules'][number]) => boolean): JointLimiter | undefined {
    const rules = this.policies.flatMap(labelledRules).filter(({ policy, rule }) => isWanted(policy, rule))
    return rules.length === 0 ? undefined : new JointLimiter(rules, this.#maker)
  }

  #join(policies: readonly Policy[]): JointLimiter | undefined {
    const rules = policies.flatMap(labelledRules)
    return rules.length === 0 ? undefined : new JointLimiter(rules, this.#maker)
  }
}

export interface SetBounds {
  readonly mostSets: number
  readonly mostRules: number
}

export class PolicySets {
  readonly #maker: LimiterMaker
  readonly #bounds: SetBounds
  /** By the names of the policies, the oldest first. */
  readonly #sets = new Map<string, PolicySet>()
  #ruleCount = 0

  constructor(maker: LimiterMaker, bounds: SetBounds = { mostSets: MOST_SETS, mostRules: MOST_SET_RULES }) {
    this.#maker = maker
    this.#bounds = bounds
  }

  get size(): number {
    return this.#sets.size
  }

  /** Number of rules in all sets. */
  get ruleCount(): number {
    return this.#ruleCount
  }

  setFor(primary: Policy, layers: readonly Policy[]): PolicySet {
    let id = primary.name
    for (const { name } of layers) id += `/${name}`
    const known = this.#sets.get(id)
    if (known !== undefined && isOf(known, primary, layers)) return known
    if (known !== undefined) this.#drop(id, known)
    const made = new PolicySet([primary, ...layers], this.#maker)
    this.#makeSpace(made.ruleCount)
    this.#sets.set(id, made)
    this.#ruleCount += made.ruleCount
    return made
  }

  /** Drops the oldest sets, until one more with so many rules fits. */
  #makeSpace(ruleCount: number): void {
    const { mostSets, mostRules } = this.#bounds
    for (const [id, set] of this.#sets) {
      if (this.#sets.size < mostSets && this.#ruleCount + ruleCount <= mostRules) return
      this.#drop(id, set)
    }
  }

  #drop(id: string, { ruleCount }: PolicySet): void {
    this.#sets.delete(id)
    this.#ruleCount -= ruleCount
  }
}

/** True if the set has these policies, and not earlier ones of the same names. */
function isOf({ policies }: PolicySet, primary: Policy, layers: readonly Policy[]): boolean {
  return policies[0] === primary && layers.every((layer, i) => policies[i + 1] === layer)
}
