// The limits of one route of the reference server, as a list in which the first one that matches decides.
//
// The reference server walks its tree without going back: at each level it takes the exact value, then the first wildcard that
// matches, then the key alone. If a branch has no limit for a request, there is none, even if another branch has one. A list says the
// same: the limits in the order of the walk, and at the end of each branch an entry without a limit that matches all of the branch.

import type { EnvoyDescriptor, EnvoyLimit } from './envoy-file.ts'

/** A limit and the values that it is for. */
export interface OrderedLimit {
  /** One for each key: a value, a prefix and a star, or a star. */
  readonly patterns: readonly string[]
  readonly limit: EnvoyLimit | 'unlimited' | undefined
  readonly isShadow: boolean
  /** For each key: true if the values that match share a counter. */
  readonly shared: readonly boolean[]
}

export interface RouteLimits {
  readonly keys: readonly string[]
  readonly limits: readonly OrderedLimit[]
}

const ANY = '*'

/** Returns the routes of a tree that have a limit. */
export function routesOf(descriptors: readonly EnvoyDescriptor[]): readonly RouteLimits[] {
  const paths = new Map<string, readonly string[]>()
  collect(descriptors, [], paths)
  const levels = new Levels()
  return [...paths.values()].map((keys) => ({ keys, limits: needed(walk({ levels, keys }, descriptors, [], [])) }))
}

/** The descriptors of each level by their keys, in the order in which the reference server tries them. */
class Levels {
  readonly #byKey = new Map<readonly EnvoyDescriptor[], Map<string, EnvoyDescriptor[]>>()

  candidates(level: readonly EnvoyDescriptor[], key: string): readonly EnvoyDescriptor[] {
    let byKey = this.#byKey.get(level)
    if (byKey === undefined) {
      byKey = new Map()
      this.#byKey.set(level, byKey)
      for (const each of level.toSorted((a, b) => rankOf(a) - rankOf(b))) {
        const ofKey = byKey.get(each.key)
        if (ofKey === undefined) byKey.set(each.key, [each])
        else ofKey.push(each)
      }
    }
    return byKey.get(key) ?? []
  }
}

interface Route {
  readonly levels: Levels
  readonly keys: readonly string[]
}

/** Adds the keys of every descriptor with a limit. */
function collect(descriptors: readonly EnvoyDescriptor[], above: readonly string[], paths: Map<string, readonly string[]>): void {
  for (const { key, limit, children } of descriptors) {
    const keys = [...above, key]
    if (limit !== undefined) paths.set(JSON.stringify(keys), keys)
    collect(children, keys, paths)
  }
}

function walk(
  route: Route,
  level: readonly EnvoyDescriptor[],
  patterns: readonly string[],
  shared: readonly boolean[],
): readonly OrderedLimit[] {
  const { levels, keys } = route
  const found = levels.candidates(level, keys[patterns.length]).flatMap((each): readonly OrderedLimit[] => {
    const here = [...patterns, each.value === '' ? ANY : each.value]
    const sharedHere = [...shared, each.isShared]
    if (here.length < keys.length) return walk(route, each.children, here, sharedHere)
    return [{ patterns: here, limit: each.limit, isShadow: each.isShadow, shared: sharedHere }]
  })
  const rest = keys.slice(patterns.length)
  const end = {
    patterns: [...patterns, ...rest.map(() => ANY)],
    limit: undefined,
    isShadow: false,
    shared: keys.map(() => false),
  }
  return [...found, end]
}

/** Exact values, then wildcards, then the key alone. The order of the file stays among equals. */
function rankOf({ value }: EnvoyDescriptor): number {
  if (value === '') return 2
  return value.includes(ANY) ? 1 : 0
}

/** Leaves out entries that never decide, and entries without a limit that keep no request from a limit behind them. */
function needed(limits: readonly OrderedLimit[]): readonly OrderedLimit[] {
  const reachable: OrderedLimit[] = []
  // No two entries have the same exact values, so only one with a star covers another one.
  const wide: OrderedLimit[] = []
  for (const each of limits) {
    if (wide.some((earlier) => covers(earlier.patterns, each.patterns))) continue
    reachable.push(each)
    if (!isExact(each.patterns)) wide.push(each)
  }
  const kept: OrderedLimit[] = []
  // From the end: an entry without a limit is needed only if one with a limit comes after it.
  for (const each of reachable.reverse()) {
    if (each.limit !== undefined || kept.some((later) => doOverlap(each.patterns, later.patterns))) kept.push(each)
  }
  return kept.reverse()
}

/** True if the first patterns match whatever the second ones match. */
export function covers(wide: readonly string[], narrow: readonly string[]): boolean {
  return wide.every((pattern, i) => isWithin(narrow[i], pattern))
}

/** True if `wide` matches whatever `narrow` matches. */
function isWithin(narrow: string, wide: string): boolean {
  return narrow === wide || wide === ANY || (isPrefix(wide) && narrow.startsWith(wide.slice(0, -1)))
}

/** Returns the patterns for whatever both match. Precondition: there is something. */
export function overlap(a: readonly string[], b: readonly string[]): readonly string[] {
  return a.map((pattern, i) => (isWithin(b[i], pattern) ? b[i] : pattern))
}

/** True if there is something that both match. */
export function doOverlap(a: readonly string[], b: readonly string[]): boolean {
  for (let i = 0; i < a.length; i++) if (!isWithin(b[i], a[i]) && !isWithin(a[i], b[i])) return false
  return true
}

/** True if the patterns match one list of values. */
export function isExact(patterns: readonly string[]): boolean {
  return !patterns.some(isPrefix)
}

function isPrefix(pattern: string): boolean {
  return pattern.endsWith(ANY)
}
