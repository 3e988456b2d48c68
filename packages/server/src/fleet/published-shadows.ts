// The counts of policies in shadow mode, as an instance publishes them for the others.
// Invariant: their text has at most MOST_CHARACTERS characters, whatever was checked. Policies that do not fit are counted as left out, and
// clients that do not fit have at most `unlistedAtMost` denials each.

import type { DeniedClient, ShadowCounts } from '../stats/shadow-counts.ts'
import { isCount, isTime } from './published-numbers.ts'

/** Characters of the JSON of all policies. A report has 16,384 in all, and at most 9,000 without them. */
export const MOST_CHARACTERS = 6144

/** Policies of one report, and clients of one policy. */
const MOST_POLICIES = 50
const MOST_CLIENTS = 50

/** The counts of one policy on one instance. */
export interface ShadowFigures {
  /** Time of the first check. */
  readonly sinceMs: number
  readonly checks: number
  readonly denied: number
  /** Denials by name of the rule. */
  readonly rules: Readonly<Record<string, number>>
  /** Clients with the most denials come first. */
  readonly clients: readonly DeniedClient[]
  /** Upper bound for the denials of a client that is not listed. */
  readonly unlistedAtMost: number
}

/** A policy in shadow mode, as it is now. */
export interface ShadowedPolicy {
  readonly name: string
  /** The version of the policy. */
  readonly etag: string
  readonly counts: ShadowCounts
}

export interface PublishedShadow extends ShadowFigures {
  readonly name: string
  readonly etag: string
}

export interface PublishedShadows {
  readonly policies: readonly PublishedShadow[]
  /** Number of policies with counts that are not published. */
  readonly leftOut: number
}

/** Returns the counts with at most `most` clients. */
export function figuresOf(counts: ShadowCounts, most: number): ShadowFigures {
  const { sinceMs, checks, denied, byRule, clients } = counts
  const listed = counts.deniedClients()
  return {
    ...{ sinceMs, checks, denied, rules: Object.fromEntries(byRule), clients: listed.slice(0, most) },
    unlistedAtMost: Math.max(clients.least, listed[most]?.denied ?? 0),
  }
}

/** Policies with the most denials first. Each gets its first client before another gets its second. */
export function publishedShadows(policies: Iterable<ShadowedPolicy>): PublishedShadows {
  const sorted = [...policies].sort((a, b) => b.counts.denied - a.counts.denied || (a.name < b.name ? -1 : 1))
  let left = MOST_CHARACTERS - lengthOf({ policies: [], leftOut: sorted.length })
  const chosen: { readonly shadow: PublishedShadow; listed: number }[] = []
  for (const { name, etag, counts } of sorted.slice(0, MOST_POLICIES)) {
    const shadow = { name, etag, ...figuresOf(counts, MOST_CLIENTS) }
    const length = lengthOf({ ...shadow, clients: [], unlistedAtMost: shadow.denied }) + 1
    if (length > left) continue
    left -= length
    chosen.push({ shadow, listed: 0 })
  }
  for (let rank = 0; rank < MOST_CLIENTS; rank++) {
    for (const each of chosen) {
      const client = each.shadow.clients[rank]
      // A policy whose last client did not fit gets no more, so that its list has no gap.
      if (client === undefined || each.listed < rank) continue
      const length = lengthOf(client) + 1
      if (length > left) continue
      left -= length
      each.listed += 1
    }
  }
  return {
    policies: chosen.map(({ shadow, listed }) => ({
      ...shadow,
      clients: shadow.clients.slice(0, listed),
      unlistedAtMost: shadow.clients[listed]?.denied ?? shadow.unlistedAtMost,
    })),
    leftOut: sorted.length - chosen.length,
  }
}

/** Returns undefined if the value has another form, such as that of another version. */
export function readShadows(value: unknown): PublishedShadows | undefined {
  if (!isRecord(value)) return undefined
  const { policies, leftOut } = value
  const isRight = isCount(leftOut) && Array.isArray(policies) && policies.length <= MOST_POLICIES && policies.every(isShadow)
  return isRight ? (value as unknown as PublishedShadows) : undefined
}

function isShadow(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { name, etag, sinceMs, checks, denied, rules, clients, unlistedAtMost } = value
  return (
    [name, etag].every((text) => typeof text === 'string') &&
    isTime(sinceMs) &&
    [checks, denied, unlistedAtMost].every(isCount) &&
    isRecord(rules) &&
    Object.values(rules).every(isCount) &&
    Array.isArray(clients) &&
    clients.length <= MOST_CLIENTS &&
    clients.every(
      (client) => isRecord(client) && typeof client.clientId === 'string' && isCount(client.denied) && isCount(client.error),
    )
  )
}

function lengthOf(value: unknown): number {
  return JSON.stringify(value).length
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
