// Policies from limits that requests bring along: a fixed window on the clock, for each limit and unit.
// Invariant: the name of the rule has the unit and not the limit, so a counter survives a change of the limit. The number of policies is
// bounded. Counts live in the store, so a policy that is dropped and made again has lost nothing.

import { fixedWindow } from 'sluice'
import { ServerError } from '../../errors.ts'
import { windowOf } from '../../policies/envoy/units.ts'
import { builtInDefault, type Policy } from '../../policies/policy.ts'

/** Name in statistics. No policy of the book can have it, because of the parentheses. */
export const OVERRIDE_POLICY = '(override)'

/** Maximum number of limits in use. */
export const MOST_OVERRIDES = 1000

export interface Override {
  readonly requests_per_unit: number
  readonly unit: number
}

export class OverridePolicies {
  readonly #policies = new Map<string, Policy>()

  get size(): number {
    return this.#policies.size
  }

  /** Throws ERR_INPUT if there is no such unit. Precondition: the limit is at least 1. */
  policyFor({ requests_per_unit: limit, unit }: Override, at: string): Policy {
    const name = `${limit}/${unit}`
    const known = this.#policies.get(name)
    if (known !== undefined) return known
    const window = windowOf(unit)
    if (window === undefined) throw new ServerError('ERR_INPUT', `${at}.limit.unit is ${unit}: no unit has this number`)
    // No rule of a policy can have this name, because of the slash.
    const rule = fixedWindow({ limit, window, anchor: 'clock', countDenied: true, name: `override/${unit}` })
    const policy: Policy = Object.freeze({ ...builtInDefault, name: OVERRIDE_POLICY, rules: Object.freeze([rule]) })
    if (this.#policies.size >= MOST_OVERRIDES) this.#policies.delete(this.#policies.keys().next().value as string)
    this.#policies.set(name, policy)
    return policy
  }
}
