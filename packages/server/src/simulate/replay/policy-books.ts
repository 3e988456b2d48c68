// Policy books for a simulation: the proposed policies alone, or over the ones in force, as an import would leave them.

import type { Clock } from 'sluice'
import { isOfClient } from '../../decide/joint-limiter.ts'
import { type Policy, readPolicy } from '../../policies/policy.ts'
import { PolicyBook } from '../../policies/policy-book.ts'
import { raisedPolicy } from './raised-limits.ts'

/**
 * Makes a book of policies as they are written. Policies expire by `clock`. Throws if one is not valid, or if two have the same
 * patterns.
 */
export function bookOf(specs: readonly unknown[], clock: Clock): PolicyBook {
  const book = new PolicyBook(() => clock.now())
  for (const spec of specs) book.put(readPolicy(spec, 'api'))
  return book
}

/** Returns the specs with every policy in the mode shadow set to enforce. */
export function enforced<S extends { readonly mode?: string | undefined }>(specs: readonly S[]): S[] {
  return specs.map((spec) => (spec.mode === 'shadow' ? { ...spec, mode: 'enforce' } : spec))
}

/** A book with the same patterns and limits that nobody reaches. */
export interface RaisedBook {
  readonly book: PolicyBook
  /** Names of the rules whose peaks are those of a client, by policy. */
  readonly rules: ReadonlyMap<string, ReadonlySet<string>>
}

/** Raises the limits of all policies, or of those with the names of `wanted`. */
export function raisedBook(policies: readonly Policy[], wanted: true | ReadonlySet<string>, clock: Clock): RaisedBook {
  const book = new PolicyBook(() => clock.now())
  const rules = new Map<string, ReadonlySet<string>>()
  const all = policies.map((policy) => {
    const higher = wanted === true || wanted.has(policy.name) ? raisedPolicy(policy) : undefined
    if (higher === undefined) return policy
    // If clients share a counter, a denial of one changes the usage that another one sees.
    const ofClients = higher.rules.filter((rule) => isOfClient(higher, rule))
    rules.set(policy.name, new Set(ofClients.map(({ name }) => name)))
    return higher
  })
  book.replaceApiPolicies(all)
  return { book, rules }
}
