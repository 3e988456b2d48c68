// Live statistics of checks: by second for the last hour, by policy, by client, and as metrics.
// Invariant: memory is bounded whatever comes in. Policies have a maximum number, clients a sketch, events a sample.

import type { Decision } from 'sluice'
import { DoorStats } from './door-stats.ts'
import { EventFeed } from './event-feed.ts'
import { DURATION_BOUNDS, Histogram, UTILIZATION_BOUNDS } from './histogram.ts'
import { OUTCOMES, PolicyStats, REASON, REASON_NAMES, type Reason } from './policy-stats.ts'
import { RecentChecks } from './recent-checks.ts'
import { RING_SECONDS } from './second-ring.ts'
import { type NamedPolicy, ShadowReports } from './shadow-counts.ts'
import { TopClients } from './top-clients.ts'
import { isUncounted } from './uncounted.ts'

/** Name of the combined statistics of policies above the maximum. A policy of this name is counted there, so that no name comes twice. */
export const OTHER = 'other'

/** Maximum number of policies with statistics of their own. Each takes 58 kB for the last hour, and 12 kB for the last month. */
const MOST_POLICIES = 100

/**
 * The way in which a check finds its policies, if it differs from `POST /v1/check`. `path`: the built-in policy counts all routes together.
 * `descriptor`: the built-in policy does not apply. `own-limit`: the limit came with the call, and no policy applies.
 */
export type CheckForm = 'path' | 'descriptor' | 'own-limit'

/** A request that was decided. */
export interface CheckedRequest {
  readonly form?: CheckForm | undefined
  readonly clientId: string
  readonly route: string
  /** The route that the check was counted under, if it differs. */
  readonly countedRoute?: string
  readonly attributes?: Readonly<Record<string, string>> | undefined
  readonly cost: number
}

export class Stats {
  readonly startedMs: number
  readonly total: PolicyStats
  readonly other: PolicyStats
  readonly events = new EventFeed()
  /** Statistics of doors besides HTTP, by name. */
  readonly doors = new Map<string, DoorStats>()
  readonly recent = new RecentChecks()
  readonly shadows = new ShadowReports()
  readonly allowedClients = new TopClients()
  readonly deniedClients = new TopClients()
  readonly checkSeconds = new Histogram(DURATION_BOUNDS)
  readonly utilization = new Histogram(UTILIZATION_BOUNDS)
  /** Decisions made without the store. */
  fallbacks = 0
  /** Holds that ended here and were opened by another instance, or are not listed here. */
  unlistedHoldEnds = 0
  /** Requests with a missing, wrong, revoked or expired key; and the number of them that were answered with 429. */
  failedAuthentications = 0
  limitedAuthentications = 0
  /** Time of the last read of the configuration file, and its success; undefined if there is no file. */
  config: { readonly atMs: number; readonly isUsed: boolean } | undefined
  readonly #policies = new Map<string, PolicyStats>()
  /** The last second with a check of a policy whose statistics were replaced. */
  #lastReplaced = 0
  /** True once policies above the maximum are counted together. A policy of that name alone is counted under its own name. */
  #isShared = false
  readonly #now: () => number

  constructor(now: () => number = Date.now) {
    this.#now = now
    this.startedMs = now()
    this.total = new PolicyStats('', this.#second())
    this.other = new PolicyStats(OTHER, this.#second())
  }

  now(): number {
    return this.#now()
  }

  /** Returns the statistics of a door. */
  statsOfDoor(door: string): DoorStats {
    const stats = this.doors.get(door) ?? new DoorStats()
    this.doors.set(door, stats)
    return stats
  }

  configRead(isUsed: boolean): void {
    this.config = { atMs: this.#now(), isUsed }
  }

  /** Statistics of each policy; `other` is last, if it was used. */
  policies(): readonly PolicyStats[] {
    const policyStats = [...this.#policies.values()]
    return this.other.ring.latest === 0 ? policyStats : [...policyStats, this.other]
  }

  /** True if every check since this second is counted under the name of its policy. False if more policies than the maximum were in use. */
  isCompleteSince(second: number): boolean {
    const lastShared = this.#isShared ? this.other.ring.latest : 0
    return Math.max(lastShared, this.#lastReplaced) < second
  }

  /** Returns the statistics of a policy. At the maximum, replaces a policy without checks for an hour; if there is none, returns `other`. */
  statsOf(policy: string): PolicyStats {
    const known = policy === OTHER ? this.other : this.#policies.get(policy)
    if (known !== undefined) return known
    if (this.#policies.size >= MOST_POLICIES && !this.#dropSilent()) {
      this.#isShared = true
      return this.other
    }
    const policyStats = new PolicyStats(policy, this.#second())
    this.#policies.set(policy, policyStats)
    return policyStats
  }

  /** Counts one check. `decision` is the decision of the rules, before the policy's mode is applied. */
  record(policyStats: PolicyStats, policy: string, reason: Reason, check: CheckedRequest, decision: Decision): void {
    const nowMs = this.#now()
    this.count(policyStats, reason, nowMs, 1)
    this.describe(policyStats, policy, reason, check, decision, nowMs)
  }

  /** Counts `times` checks of one moment by their reason. Each of them also needs `describe`. */
  count(policyStats: PolicyStats, reason: Reason, nowMs: number, times: number): void {
    const second = Math.floor(nowMs / 1000)
    policyStats.count(second, reason, times)
    this.total.count(second, reason, times)
  }

  /** Records a check for everything that depends on more than its reason: clients, samples, use of limits, events. */
  describe(
    policyStats: PolicyStats,
    policy: string,
    reason: Reason,
    check: CheckedRequest,
    decision: Decision,
    nowMs: number,
  ): void {
    const { clientId, route, countedRoute, cost } = check
    // Policies change nothing for a check with its own limit.
    if (check.form !== 'own-limit') this.recent.add(check, nowMs)
    if (decision.source === 'fallback') this.fallbacks += 1
    const isDenied = OUTCOMES[reason] === 'deny'
    if (isDenied) {
      this.deniedClients.add(clientId, nowMs)
    } else {
      this.allowedClients.add(clientId, nowMs)
      if (reason === REASON.within && decision.remaining * 5 <= decision.limit) policyStats.nearLimit += 1
    }
    if (reason !== REASON.off && decision.limit > 0 && !isUncounted(decision))
      this.utilization.observe((decision.limit - decision.remaining) / decision.limit)
    const isNews = isDenied || reason === REASON.shadow
    if (this.events.samples(Math.floor(nowMs / 1000), isNews)) {
      const time = new Date(nowMs).toISOString()
      const counted = countedRoute === undefined ? {} : { counted_route: countedRoute }
      const checked = { time, client_id: clientId, route, ...counted, cost, policy }
      const answered = { outcome: OUTCOMES[reason], reason: REASON_NAMES[reason] }
      this.events.publish({ ...checked, ...answered, ...decisionFields(decision) }, isNews)
    }
  }

  /** Counts a check for the report of a policy in shadow mode. `rule` is the one that would have denied; undefined if none would. */
  recordShadow(policy: NamedPolicy, clientId: string, rule: string | undefined): void {
    this.shadows.add(policy, clientId, rule, this.#now())
  }

  /** Counts a check under one more policy of its decision. Totals have it already. */
  recordMember(policyStats: PolicyStats, reason: Reason): void {
    policyStats.count(this.#second(), reason)
  }

  /** Counts a check that could not be decided. */
  recordError(policyStats: PolicyStats): void {
    this.count(policyStats, REASON.store, this.#now(), 1)
  }

  #second(): number {
    return Math.floor(this.#now() / 1000)
  }

  #dropSilent(): boolean {
    const hourAgo = this.#second() - RING_SECONDS
    for (const policyStats of this.#policies.values()) {
      if (policyStats.latest > hourAgo) continue
      policyStats.isCurrent = false
      this.#lastReplaced = Math.max(this.#lastReplaced, policyStats.ring.latest)
      this.#policies.delete(policyStats.name)
      return true
    }
    return false
  }
}

function decisionFields({ rule, limit, remaining, retryAfterMs, source }: Decision) {
  return {
    rule,
    limit,
    remain: remaining,
    retry_after_ms: retryAfterMs === Number.POSITIVE_INFINITY ? null : retryAfterMs,
    source,
  }
}
