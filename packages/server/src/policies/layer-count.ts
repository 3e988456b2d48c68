// Counts the layers that join every request of a policy, so that a policy which would make all of them fail is refused when it is
// written. Layers that match only some of its requests are counted by each check.

import { LIMITS } from '../contract/limits.ts'
import type { Problem } from '../errors.ts'
import { show } from '../input/near-word.ts'
import { isBlock, type Policy } from './policy.ts'
import { PolicyIndex } from './policy-index.ts'

/** Returns the reason why a layer is one too many for its own requests; undefined if it is not. A block is decided first and counts nothing. */
export function tooManyLayers(policy: Policy, layers: PolicyIndex): string | undefined {
  if (policy.applies !== 'always' || isBlock(policy)) return undefined
  // A layer that is there with the same patterns makes nothing worse.
  if (layers.get(policy).some((each) => each !== policy && each.name === policy.name && !isBlock(each))) return undefined
  const { client, route, conditions } = policy
  const attributes = Object.fromEntries(conditions.map(({ attribute, pattern }) => [attribute, beginningOf(pattern)]))
  const matching = layers.all(beginningOf(client), beginningOf(route), attributes)
  const others = matching.filter((each) => each.name !== policy.name && !isBlock(each) && covers(each, policy))
  if (others.length < LIMITS.mostLayers) return undefined
  return `${others.length} policies with applies: always join every request of ${show(policy.name)} already, and ${LIMITS.mostLayers} are the maximum`
}

/** Returns a problem for each policy of a list that is one too many for its own requests. `placeOf` names the place of a policy. */
export function layerProblems(policies: readonly Policy[], placeOf: (index: number) => string): readonly Problem[] {
  const layers = new PolicyIndex()
  for (const policy of policies) if (policy.applies === 'always') layers.add(policy)
  return policies.flatMap((policy, i) => {
    const reason = tooManyLayers(policy, layers)
    return reason === undefined ? [] : [{ at: placeOf(i), message: `${placeOf(i)}: ${reason}` }]
  })
}

/** True if `wide` matches every request that `policy` matches. */
function covers(wide: Policy, policy: Policy): boolean {
  if (!includes(wide.client, policy.client) || !includes(wide.route, policy.route)) return false
  return wide.conditions.every(({ attribute, pattern }) => {
    const own = policy.conditions.find((condition) => condition.attribute === attribute)
    return own !== undefined && includes(pattern, own.pattern)
  })
}

/** True if the pattern `wide` matches every text that `pattern` matches. */
function includes(wide: string, pattern: string): boolean {
  return wide.endsWith('*') ? beginningOf(pattern).startsWith(beginningOf(wide)) : wide === pattern
}

function beginningOf(pattern: string): string {
  return pattern.endsWith('*') ? pattern.slice(0, -1) : pattern
}
