// Live figures about checks: per second for the last hour, by policy, by client, and as metrics.
// What must stay true: memory is bounded whatever comes in. A cap on policies, sketches for clients, a sample for events.

import type { Decision } from 'sluice'
import { EventFeed } from './event-feed.ts'
import { Figures, OUTCOMES, REASON, REASON_NAMES, type Reason } from './figures.ts'
import { DURATION_BOUNDS, Histogram, UTILIZATION_BOUNDS } from './histogram.ts'
import { RING_SECONDS } from './second-ring.ts'
import { TopClients } from './top-clients.ts'

/** What the figures of policies beyond the cap are called. */
export const OTHER = 'other'

/** Policies with figures of their own: each takes 58 kB for its hour. */
const MOST_POLICIES = 100

/** The subject of a check. */
export interface CheckedRequest {
  readonly clientId: string
  readonly route: string
  /** The route that it was counted under, where that is another. */
  readonly countedRoute?: string
  readonly cost: number
}

export class Stats {
  readonly startedMs: number
  readonly total: Figures
  readonly other: Figures
  readonly events = new EventFeed()
  readonly allowedClients = new TopClients()
  readonly deniedClients = new TopClients()
  readonly checkSeconds = new Histogram(DURATION_BOUNDS)
  readonly utilization = new Histogram(UTILIZATION_BOUNDS)
  /** Decisions that were made without the store. */
  fallbacks = 0
  /** Requests whose key was missing, wrong, revoked or expired; and of these, those that were answered 429. */
  failedAuthentications = 0
  limitedAuthentications = 0
  /** When the configuration file was last read, and whether it could be used; undefined if there is none. */
  config: { readonly atMs: number; readonly isUsed: boolean } | undefined
  readonly #policies = new Map<string, Figures>()
  readonly #now: () => number

  constructor(now: () => number = Date.now) {
    this.#now = now
    this.startedMs = now()
    this.total = new Figures('', this.#second())
    this.other = new Figures(OTHER, this.#second())
  }

  now(): number {
    return this.#now()
  }

  configRead(isUsed: boolean): void {
    this.config = { atMs: this.#now(), isUsed }
  }

  /** The policies that have figures of their own; `other` last, if it was needed. */
  policies(): readonly Figures[] {
    const figures = [...this.#policies.values()]
    return this.other.ring.latest === 0 ? figures : [...figures, this.other]
  }

  /** The figures of a policy. At the cap, one that has been silent for an hour gives way; if there is none, `other` counts. */
  figuresOf(policy: string): Figures {
    const known = this.#policies.get(policy)
    if (known !== undefined) return known
    if (this.#policies.size >= MOST_POLICIES && !this.#dropSilent()) return this.other
    const figures = new Figures(policy, this.#second())
    this.#policies.set(policy, figures)
    return figures
  }

  /** Counts one check. `decision` is what the rules said, also where the policy's mode lets it pass. */
  record(figures: Figures, policy: string, reason: Reason, check: CheckedRequest, decision: Decision): void {
    const { clientId, route, countedRoute, cost } = check
    const nowMs = this.#now()
    const second = Math.floor(nowMs / 1000)
    this.#count(figures, second, reason)
    if (decision.source === 'fallback') this.fallbacks += 1
    const isDenied = reason === REASON.limit || reason === REASON.cost
    if (isDenied) {
      this.deniedClients.add(clientId, nowMs)
    } else {
      this.allowedClients.add(clientId, nowMs)
      if (reason === REASON.within && decision.remaining * 5 <= decision.limit) figures.nearLimit += 1
    }
    if (reason !== REASON.off) this.utilization.observe((decision.limit - decision.remaining) / decision.limit)
    const isNews = isDenied || reason === REASON.shadow
    if (this.events.samples(second, isNews)) {
      const time = new Date(nowMs).toISOString()
      const counted = countedRoute === undefined ? {} : { counted_route: countedRoute }
      const checked = { time, client_id: clientId, route, ...counted, cost, policy }
      const answered = { outcome: OUTCOMES[reason], reason: REASON_NAMES[reason] }
      this.events.publish({ ...checked, ...answered, ...figuresOf(decision) }, isNews)
    }
  }

  /** Counts a check that could not be decided. */
  recordError(figures: Figures): void {
    this.#count(figures, this.#second(), REASON.store)
  }

  #second(): number {
    return Math.floor(this.#now() / 1000)
  }

  #count(figures: Figures, second: number, reason: Reason): void {
    figures.count(second, reason)
    this.total.count(second, reason)
  }

  #dropSilent(): boolean {
    const hourAgo = this.#second() - RING_SECONDS
    for (const figures of this.#policies.values()) {
      if (figures.latest > hourAgo) continue
      figures.isKept = false
      this.#policies.delete(figures.name)
      return true
    }
    return false
  }
}

function figuresOf({ rule, limit, remaining, retryAfterMs, source }: Decision) {
  return {
    rule,
    limit,
    remain: remaining,
    retry_after_ms: retryAfterMs === Number.POSITIVE_INFINITY ? null : retryAfterMs,
    source,
  }
}
