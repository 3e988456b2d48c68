// Turns files of the reference server into policies that give the same answers.
//
// There the first limit that matches decides. Here the most specific policy does, and that can be another one: `a=x` comes before
// `b=y, c=z` there, and here two conditions come before one. Where the two orders differ, a policy for the overlap decides as the
// limit that comes first there.

import type { Problem } from '../../errors.ts'
import { ServerError } from '../../errors.ts'
import { type Conditional, compareConditions, conditionsOf } from '../conditions.ts'
import { type PolicySpec, type RuleSpec, readPolicies } from '../policy.ts'
import { attributeNames, routeOf } from './descriptor-names.ts'
import type { EnvoyFile } from './envoy-file.ts'
import { covers, doOverlap, isExact, type OrderedLimit, overlap, type RouteLimits, routesOf } from './ordered-limits.ts'
import { UNITS } from './units.ts'

/** Maximum number of policies of one route. */
const MOST_OF_ROUTE = 2000

/** Stands in a policy that counts nothing, because a policy needs a rule. */
const UNUSED_RULE = '1/second'

export interface ImportedPolicies {
  readonly specs: readonly PolicySpec[]
  /** Settings of the files that have no effect here, or another one. */
  readonly differences: readonly Problem[]
}

/** One policy to be. */
interface Planned extends OrderedLimit, Conditional {
  readonly where: Readonly<Record<string, string>>
  /** The attributes to count by, if some values share a counter. */
  readonly per: readonly string[] | undefined
}

/** Throws ERR_INPUT if two files have the same domain, or if a value cannot be written in a policy. */
export function policiesOf(files: readonly EnvoyFile[]): ImportedPolicies {
  const domains = files.map(({ domain }) => domain)
  const twice = domains.find((domain, i) => domains.indexOf(domain) !== i)
  if (twice !== undefined) throw new ServerError('ERR_INPUT', `two files have the domain ${twice}`)
  const names = new Names()
  const specs = files.flatMap(({ domain, descriptors }) =>
    routesOf(descriptors).flatMap((route) => policiesOfRoute(domain, route, names)),
  )
  // Reports whatever the service would refuse, before the first policy is sent.
  readPolicies(specs, 'api', 'policies')
  return { specs, differences: files.flatMap(({ differences }) => differences) }
}

function policiesOfRoute(domain: string, { keys, limits }: RouteLimits, names: Names): readonly PolicySpec[] {
  const attributes = attributeNames(keys)
  const plan = (limit: OrderedLimit): Planned => {
    const parts = keys.map((key, i) => (limit.patterns[i] === '*' ? key : `${key}_${limit.patterns[i]}`))
    const values = attributes.map((attribute, i) => [attribute, limit.patterns[i]]).filter(([, pattern]) => pattern !== '*')
    const where: Readonly<Record<string, string>> = Object.fromEntries(values)
    const per = limit.shared.includes(true) ? attributes.filter((_, i) => !limit.shared[i]) : undefined
    return { ...limit, name: names.make([domain, ...parts].join('.')), where, per, conditions: conditionsOf(where, per ?? []) }
  }
  return inOrder(limits.map(plan), plan).map((planned) => specOf(routeOf(domain, keys), planned))
}

/** Adds policies for overlaps, until the policy that decides a request is always the first one that matches it. */
function inOrder(first: readonly Planned[], plan: (limit: OrderedLimit) => Planned): readonly Planned[] {
  const all = [...first]
  // Different exact values have no overlap.
  if (all.every(({ patterns }) => isExact(patterns))) return all
  for (let size = 0; size < all.length; ) {
    size = all.length
    for (let i = 0; i < all.length; i++) {
      for (let j = i + 1; j < all.length; j++) {
        if (!doOverlap(all[i].patterns, all[j].patterns) || compareConditions(all[i], all[j]) < 0) continue
        const both = overlap(all[i].patterns, all[j].patterns)
        const isKnown = all.some(({ patterns }) => covers(patterns, both) && covers(both, patterns))
        if (isKnown) continue
        if (all.length >= MOST_OF_ROUTE) throw new ServerError('ERR_INPUT', `a route needs more than ${MOST_OF_ROUTE} policies`)
        const decisive = all.findIndex(({ patterns }) => covers(patterns, both))
        all.splice(decisive + 1, 0, plan({ ...all[decisive], patterns: both }))
      }
    }
  }
  return all
}

function specOf(route: string, { name, where, per, limit, isShadow }: Planned): PolicySpec {
  const matching = { name, route, ...(Object.keys(where).length > 0 && { where }) }
  if (limit === undefined || limit === 'unlimited') return { ...matching, rules: UNUSED_RULE, mode: 'off' }
  const rule: RuleSpec = {
    algorithm: 'fixed-window',
    limit: limit.requestsPerUnit,
    window: UNITS[limit.unit].written,
    anchor: 'clock',
    countDenied: true,
    name: limit.name ?? limit.unit,
    ...(per !== undefined && { per }),
  }
  return { ...matching, rules: rule, ...(isShadow && { mode: 'shadow' as const }) }
}

/** Names of policies: safe in headers, metrics and paths, and each used once. */
class Names {
  readonly #taken = new Set<string>()
  /** The last number that was added to a name. */
  readonly #numbers = new Map<string, number>()

  make(wanted: string): string {
    const plain = wanted.replace(/[^A-Za-z0-9._:-]/g, '-').replace(/^[^A-Za-z0-9]+/, '') || 'policy'
    let name = plain.slice(0, 64)
    const short = plain.slice(0, 57)
    let number = this.#numbers.get(short) ?? 1
    while (this.#taken.has(name)) {
      number += 1
      name = `${short}-${number}`
    }
    this.#numbers.set(short, number)
    this.#taken.add(name)
    return name
  }
}
