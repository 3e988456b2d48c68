// Denials that policies in shadow mode would have made, since each of them began on this instance.
// Invariant: at most MOST_POLICIES policies have counts. A policy object never changes, so a changed policy begins anew.

import { SpaceSaving } from './space-saving.ts'

/** Maximum number of policies with counts. Each takes about 120 kB. */
export const MOST_POLICIES = 100

/** Denied clients that are kept for each policy. A count is too high by at most a 512th of the denials. */
const MOST_CLIENTS = 512

/** Counts of a policy without checks for this long may be replaced. */
const IDLE_MS = 3_600_000

export class ShadowCounts {
  /** Time of the first check, and of the last one. */
  readonly sinceMs: number
  lastMs: number
  checks = 0
  denied = 0
  /** Denials by name of the rule. */
  readonly byRule = new Map<string, number>()
  readonly clients = new SpaceSaving(MOST_CLIENTS, 1)

  constructor(nowMs: number) {
    this.sinceMs = nowMs
    this.lastMs = nowMs
  }

  /** Returns the clients that are kept, those with the most denials first. */
  deniedClients(): DeniedClient[] {
    const clients = [...this.clients.items()].map((clientId) => {
      const { count = 0, error = 0 } = this.clients.get(clientId) ?? {}
      return { clientId, denied: count, error }
    })
    return clients.sort(byDenials)
  }
}

export interface DeniedClient {
  readonly clientId: string
  /** Never too low. */
  readonly denied: number
  /** The most by which `denied` may be too high. */
  readonly error: number
}

/** The client with the most denials first. */
export function byDenials(a: DeniedClient, b: DeniedClient): number {
  return b.denied - a.denied || (a.clientId < b.clientId ? -1 : 1)
}

/** A policy, as far as reports know it. */
export interface NamedPolicy {
  readonly name: string
}

export class ShadowReports {
  readonly #counts = new Map<NamedPolicy, ShadowCounts>()

  /** Counts a check that a policy in shadow mode decided. `rule` is the one that would have denied; undefined if none would. */
  add(policy: NamedPolicy, clientId: string, rule: string | undefined, nowMs: number): void {
    const counts = this.#counts.get(policy) ?? this.#begin(policy, nowMs)
    if (counts === undefined) return
    counts.checks += 1
    counts.lastMs = nowMs
    if (rule === undefined) return
    counts.denied += 1
    counts.byRule.set(rule, (counts.byRule.get(rule) ?? 0) + 1)
    counts.clients.add(clientId, 0)
  }

  /** Returns undefined if the policy has decided nothing yet, or too many other policies are in shadow mode. */
  get(policy: NamedPolicy): ShadowCounts | undefined {
    return this.#counts.get(policy)
  }

  get size(): number {
    return this.#counts.size
  }

  /** Returns the policies with counts. Some may have been changed since. */
  entries(): IterableIterator<[policy: NamedPolicy, counts: ShadowCounts]> {
    return this.#counts.entries()
  }

  #begin(policy: NamedPolicy, nowMs: number): ShadowCounts | undefined {
    if (this.#counts.size >= MOST_POLICIES && !this.#dropIdle(nowMs)) return undefined
    const counts = new ShadowCounts(nowMs)
    this.#counts.set(policy, counts)
    return counts
  }

  #dropIdle(nowMs: number): boolean {
    for (const [policy, { lastMs }] of this.#counts) {
      if (lastMs > nowMs - IDLE_MS) continue
      this.#counts.delete(policy)
      return true
    }
    return false
  }
}
