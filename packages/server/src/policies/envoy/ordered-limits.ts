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
  return [...paths.values()].map((keys) => ({ keys, limits: needed(walk(descriptors, keys, [], [])) }))
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
  level: readonly EnvoyDescriptor[],
  keys: readonly string[],
  patterns: readonly string[],
  shared: readonly boolean[],
): readonly OrderedLimit[] {
  const candidates = level.filter(({ key }) => key === keys[patterns.length]).sort((a, b) => rankOf(a) - rankOf(b))
  const found = candidates.flatMap((each): readonly OrderedLimit[] => {
    const here = [...patterns, each.value === '' ? ANY : each.value]
    const sharedHere = [...shared, each.isShared]
    if (here.length < keys.length) return walk(each.children, keys, here, sharedHere)
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
  for (const each of limits) {
    if (!reachable.some((earlier) => covers(earlier.patterns, each.patterns))) reachable.push(each)
  }
  const kept: OrderedLimit[] = []
  // From the end: an entry without a limit is needed only if one with a limit comes after it.
  for (const each of reachable.reverse()) {
    if (each.limit !== undefined || kept.some((later) => overlap(each.patterns, later.patterns) !== undefined)) kept.push(each)
  }
  return kept.reverse()
}

/** True if the first patterns match whatever the second ones match. */
export function covers(wide: readonly string[], narrow: readonly string[]): boolean {
  return wide.every((pattern, i) => pattern === narrow[i] || (isPrefix(pattern) && narrow[i].startsWith(pattern.slice(0, -1))))
}

/** Returns the patterns for whatever both match. Undefined if there is nothing. */
export function overlap(a: readonly string[], b: readonly string[]): readonly string[] | undefined {
  const both: string[] = []
  for (let i = 0; i < a.length; i++) {
    if (covers([a[i]], [b[i]])) both.push(b[i])
    else if (covers([b[i]], [a[i]])) both.push(a[i])
    else return undefined
  }
  return both
}

function isPrefix(pattern: string): boolean {
  return pattern.endsWith(ANY)
}
