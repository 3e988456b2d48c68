// Checks that a policy in shadow mode would have denied, on all instances together.
// Invariant: the denials of a client are never too low, and `error` is the most by which they are too high. An instance that does not list a
// client may have denied it up to `unlistedAtMost` times, so this is added to both.

import { byDenials, type DeniedClient } from '../stats/shadow-counts.ts'
import { type FleetInstance, type FleetView, isUp } from './fleet-view.ts'
import type { ShadowFigures } from './published-shadows.ts'

/** An instance whose counts are in the sums. It may have had no check yet. */
export interface CountedInstance {
  readonly id: string
  readonly isSelf: boolean
  readonly figures: ShadowFigures | undefined
}

export interface ShadowSums extends Omit<ShadowFigures, 'sinceMs'> {
  /** Time of the first check on any instance; undefined if there was none. */
  readonly sinceMs: number | undefined
  /** The answering instance first. */
  readonly instances: readonly CountedInstance[]
  /** Number of instances that may be up, and whose counts are not in the sums. */
  readonly uncounted: number
}

/** `own` are the counts of the answering instance. `name` and `etag` name the policy as it is now. */
export function shadowSums(
  { instances, unreadable }: Pick<FleetView, 'instances' | 'unreadable'>,
  { name, etag }: { readonly name: string; readonly etag: string },
  own: ShadowFigures | undefined,
): ShadowSums {
  const counted: CountedInstance[] = []
  let uncounted = unreadable
  for (const instance of instances.filter(isUp)) {
    const { id, isSelf } = instance
    const published = isSelf ? { figures: own } : publishedFigures(instance, name, etag)
    if (published === undefined) uncounted += 1
    else counted.push({ id, isSelf, figures: published.figures })
  }
  return { ...sumOf(counted.flatMap(({ figures }) => figures ?? [])), instances: counted, uncounted }
}

/** Returns undefined if the report of the instance cannot tell. A policy without checks is in no report. */
function publishedFigures(
  { report: { shadows } }: FleetInstance,
  name: string,
  etag: string,
): { readonly figures: ShadowFigures | undefined } | undefined {
  if (shadows === undefined) return undefined
  const figures = shadows.policies.find((shadow) => shadow.name === name && shadow.etag === etag)
  return figures === undefined && shadows.leftOut > 0 ? undefined : { figures }
}

function sumOf(all: readonly ShadowFigures[]): Omit<ShadowSums, 'instances' | 'uncounted'> {
  const total = (of: (figures: ShadowFigures) => number): number => all.reduce((sum, figures) => sum + of(figures), 0)
  const rules: Record<string, number> = Object.create(null)
  for (const figures of all) {
    for (const [rule, denied] of Object.entries(figures.rules)) rules[rule] = (rules[rule] ?? 0) + denied
  }
  return {
    sinceMs: all.length === 0 ? undefined : Math.min(...all.map(({ sinceMs }) => sinceMs)),
    checks: total(({ checks }) => checks),
    denied: total(({ denied }) => denied),
    rules,
    clients: clientsOf(all),
    unlistedAtMost: total(({ unlistedAtMost }) => unlistedAtMost),
  }
}

function clientsOf(all: readonly ShadowFigures[]): DeniedClient[] {
  const unlistedAnywhere = all.reduce((sum, { unlistedAtMost }) => sum + unlistedAtMost, 0)
  const sums = new Map<string, { denied: number; error: number }>()
  for (const { clients, unlistedAtMost } of all) {
    for (const { clientId, denied, error } of clients) {
      const known = sums.get(clientId) ?? { denied: unlistedAnywhere, error: unlistedAnywhere }
      sums.set(clientId, { denied: known.denied + denied - unlistedAtMost, error: known.error + error - unlistedAtMost })
    }
  }
  return [...sums].map(([clientId, { denied, error }]) => ({ clientId, denied, error })).sort(byDenials)
}
