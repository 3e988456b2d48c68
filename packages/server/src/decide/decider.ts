// Decides checks: finds the policy, calls its limiter, applies its mode, and records statistics.
// Invariant: on a store that answers at once, a check is decided synchronously, without a promise. Every check is recorded once.

import type { Decision, FailureOptions, Store } from 'sluice'
import type { Responder } from 'sluice/http'
import { ServerError } from '../errors.ts'
import type { Policy } from '../policies/policy.ts'
import type { PolicyBook } from '../policies/policy-book.ts'
import type { RequestFacts } from '../policies/request-facts.ts'
import { REASON, type Reason } from '../stats/policy-stats.ts'
import type { CheckedRequest, Stats } from '../stats/stats.ts'
import { isUncounted } from '../stats/uncounted.ts'
import type { CheckRequest } from './check-request.ts'
import { countedKey } from './counted-key.ts'
import { type PolicyLimiter, PolicyLimiters } from './policy-limiters.ts'
import { Reservations } from './reservations.ts'
import { StoreHealth } from './store-health.ts'
import { Throttles } from './throttles.ts'

/** The result of a check. */
export interface CheckResult {
  readonly policy: Policy
  /** The decision of the rules. With mode `off` the rules were not asked. */
  readonly decision: Decision
  /** The decision for the caller. The policy's mode may turn a denial of the rules into an allowance. */
  readonly allowed: boolean
  /** True if the rules deny, but the policy is in shadow mode. */
  readonly isShadowDenied: boolean
  /** Writes the headers for the decision. */
  readonly responder: Responder
  /** The reason of a denial that the policy shows to callers. */
  readonly reason?: string
}

export interface Usage {
  readonly policy: Policy
  readonly decision: Decision
}

/** The route for counting a client that chooses its routes itself, under the built-in policy. */
export const ALL_ROUTES = '*'

export interface DeciderOptions {
  readonly store: Store
  readonly failure: Omit<FailureOptions, 'standIn'>
  /** Maximum number of fallback counters, with failure mode `local`. */
  readonly fallbackKeys: number
  /** Maximum number of open holds of one client under one rule. */
  readonly mostHolds: number
  /** The longest wait that is worth a retry. Default: every wait is. */
  readonly retryWithinMs?: number | undefined
  readonly policies: PolicyBook
  readonly stats: Stats
}

export class Decider {
  readonly health = new StoreHealth()
  readonly holds: Reservations
  /** Checks whose limits come with the call. */
  readonly throttles: Throttles
  readonly #policies: PolicyBook
  readonly #limiters: PolicyLimiters
  readonly #stats: Stats
  /** False for a store in memory. */
  readonly #canFail: boolean

  constructor({ store, failure, fallbackKeys, mostHolds, retryWithinMs, policies, stats }: DeciderOptions) {
    this.#policies = policies
    this.#stats = stats
    this.#canFail = store.guard !== undefined
    this.#limiters = new PolicyLimiters({ store, failure, fallbackKeys, mostHolds, retryWithinMs, stats, health: this.health })
    this.holds = new Reservations({
      policies,
      limiters: this.#limiters,
      stats,
      resultOf: (entry, check, decision, startMs) => this.#resultOf(entry, check, decision, startMs),
      answered: (decision, startMs) => this.#answered(decision, startMs),
    })
    this.throttles = new Throttles({
      limiters: this.#limiters,
      stats,
      answered: (decision, startMs) => this.#answered(decision, startMs),
      reasonOf: (decision) => reasonFor({ mode: 'enforce' }, decision),
    })
  }

  /**
   * Decides and spends. Synchronous on a store that answers at once. Otherwise returns a promise, which rejects if the store failed and there is no
   * fallback. `startMs` is the common start time of a batch.
   */
  check(request: CheckRequest, startMs = performance.now()): CheckResult | Promise<CheckResult> {
    return this.#decide(this.#policies.find(request.clientId, request.route), request, startMs)
  }

  /**
   * Like `check`, for a route that the client chose itself, such as the path of a forwarded request. The built-in policy then counts
   * all routes of a client together. Otherwise a client could avoid the limit with a new path for each request. Any other policy counts
   * as its scope says.
   */
  checkPath(request: CheckRequest, startMs = performance.now()): CheckResult | Promise<CheckResult> {
    const policy = this.#policies.find(request.clientId, request.route)
    const check = policy.source === 'built-in' ? { ...request, countedRoute: ALL_ROUTES } : request
    return this.#decide(policy, check, startMs)
  }

  #decide(policy: Policy, check: CheckedRequest, startMs: number): CheckResult | Promise<CheckResult> {
    const entry = this.#limiters.limiterFor(policy)
    const { clientId, route, countedRoute = route, cost } = check
    if (policy.mode === 'off') return this.#resultOf(entry, check, entry.free, startMs)
    if (entry.needsReserve) throw needsReserve(policy)
    const key = countedKey(policy, clientId, countedRoute)
    const answer = cost === 1 ? entry.limiter.hit(key) : entry.limiter.hit(key, { cost })
    if (!(answer instanceof Promise)) {
      this.#answered(answer, startMs)
      return this.#resultOf(entry, check, answer, startMs)
    }
    return answer.then(
      (decision) => {
        this.#answered(decision, startMs)
        return this.#resultOf(entry, check, decision, startMs)
      },
      (error: unknown) => {
        this.#stats.recordError(entry.policyStats)
        throw error
      },
    )
  }

  /** Returns the decision that a check would get now. Spends nothing. */
  async usage(request: CheckRequest): Promise<Usage> {
    const { entry, key } = this.#find(request)
    return { policy: entry.policy, decision: await entry.limiter.peek(key, { cost: request.cost }) }
  }

  /** Resets the counter. */
  async reset(request: RequestFacts): Promise<Policy> {
    const { entry, key } = this.#find(request)
    await entry.limiter.reset(key)
    return entry.policy
  }

  /** Gives units back on every rule. Returns the used units of the first rule. */
  async refund(request: CheckRequest): Promise<{ readonly policy: Policy; readonly used: number }> {
    const { entry, key } = this.#find(request)
    return { policy: entry.policy, used: await entry.limiter.refund(key, request.cost) }
  }

  /** Sets the count of one rule (default: the first) to `used`. */
  async set(
    request: RequestFacts,
    used: number,
    rule: string | undefined,
  ): Promise<{ readonly policy: Policy; readonly used: number }> {
    const { entry, key } = this.#find(request)
    return { policy: entry.policy, used: await entry.limiter.set(key, used, rule === undefined ? {} : { rule }) }
  }

  /** Releases the fallback counters. */
  close(): void {
    this.#limiters.close()
  }

  #answered({ source }: Decision, startMs: number): void {
    if (this.#canFail && source === 'store') this.health.answered((performance.now() - startMs) / 1000)
  }

  #find({ clientId, route }: RequestFacts): { readonly entry: PolicyLimiter; readonly key: string } {
    const policy = this.#policies.find(clientId, route)
    return { entry: this.#limiters.limiterFor(policy), key: countedKey(policy, clientId, route) }
  }

  #resultOf(entry: PolicyLimiter, check: CheckedRequest, decision: Decision, startMs: number): CheckResult {
    const { policy } = entry
    const isShadow = policy.mode === 'shadow'
    // If nothing was counted, the rules did not deny.
    const isShadowDenied = !decision.allowed && isShadow && !isUncounted(decision)
    this.#stats.checkSeconds.observe((performance.now() - startMs) / 1000)
    this.#stats.record(entry.policyStats, policy.name, reasonFor(policy, decision), check, decision)
    return { policy, decision, allowed: decision.allowed || isShadow, isShadowDenied, responder: entry.responder }
  }
}

/** Makes the error of a check that could never be released. */
function needsReserve({ name }: Policy): ServerError {
  const message = `the policy ${name} has a concurrency rule: use POST /v1/reserve, and settle or cancel the hold when the work is done`
  return new ServerError('ERR_NEEDS_RESERVE', message)
}

function reasonFor({ mode }: Pick<Policy, 'mode'>, decision: Decision): Reason {
  const { allowed, retryAfterMs } = decision
  if (mode === 'off') return REASON.off
  if (isUncounted(decision)) return allowed || mode === 'shadow' ? REASON.fallbackAllow : REASON.fallbackDeny
  if (allowed) return REASON.within
  if (mode === 'shadow') return REASON.shadow
  return retryAfterMs === Number.POSITIVE_INFINITY ? REASON.cost : REASON.limit
}
