// Decides checks: finds the policies, calls their limiter, applies their modes, and records statistics.
// Invariant: on a store that answers at once, a check is decided synchronously, without a promise. Every check is recorded once.

import type { Decision, FailureOptions, Store } from 'sluice'
import type { Policy } from '../policies/policy.ts'
import type { PolicyBook } from '../policies/policy-book.ts'
import type { RequestFacts } from '../policies/request-facts.ts'
import type { CheckedRequest, Stats } from '../stats/stats.ts'
import { isUncounted } from '../stats/uncounted.ts'
import type { CheckRequest } from './check-request.ts'
import { type CheckResult, reasonFor } from './check-result.ts'
import { countedKey } from './counted-key.ts'
import { type Counted, Counters, type Look, type Usage } from './counters.ts'
import { LayeredChecks } from './layered-checks.ts'
import { LimiterMaker } from './limiter-maker.ts'
import { needsReserve } from './needs-reserve.ts'
import { type PolicyLimiter, PolicyLimiters } from './policy-limiters.ts'
import { PolicySets } from './policy-sets.ts'
import { Reservations } from './reservations.ts'
import { StoreHealth } from './store-health.ts'
import { Throttles } from './throttles.ts'

export type { CheckResult } from './check-result.ts'

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
  readonly #counters: Counters
  readonly #policies: PolicyBook
  readonly #maker: LimiterMaker
  readonly #limiters: PolicyLimiters
  readonly #sets: PolicySets
  readonly #layered: LayeredChecks
  readonly #stats: Stats
  /** False for a store in memory. */
  readonly #canFail: boolean

  constructor(options: DeciderOptions) {
    const { store, policies, stats } = options
    this.#policies = policies
    this.#stats = stats
    this.#canFail = store.guard !== undefined
    const maker = new LimiterMaker({ ...options, health: this.health })
    const { retryWithinMs } = maker
    this.#maker = maker
    this.#limiters = new PolicyLimiters(maker, stats)
    this.#sets = new PolicySets(maker)
    const answered = (decision: Decision, startMs: number): void => this.#answered(decision, startMs)
    const layered = new LayeredChecks({ policies, stats, retryWithinMs, answered })
    this.#layered = layered
    this.#counters = new Counters({ policies, sets: this.#sets, layered })
    this.holds = new Reservations({ policies, sets: this.#sets, layered, stats, answered })
    this.throttles = new Throttles({
      maker,
      stats,
      answered,
      reasonOf: (decision) => reasonFor({ mode: 'enforce' }, decision),
    })
  }

  /**
   * Decides and spends. Synchronous on a store that answers at once. Otherwise returns a promise, which rejects if the store failed and
   * there is no fallback. `startMs` is the common start time of a batch.
   */
  check(request: CheckRequest, startMs = performance.now()): CheckResult | Promise<CheckResult> {
    const { clientId, route, attributes } = request
    return this.#decide(this.#policies.find(clientId, route, attributes), request, startMs)
  }

  /**
   * Like `check`, for a route that the client chose itself, such as the path of a forwarded request. The built-in policy then counts
   * all routes of a client together. Otherwise a client could avoid the limit with a new path for each request. Any other policy counts
   * as its scope says.
   */
  checkPath(request: CheckRequest, startMs = performance.now()): CheckResult | Promise<CheckResult> {
    const { clientId, route, attributes } = request
    const policy = this.#policies.find(clientId, route, attributes)
    const countedRoute = policy.source === 'built-in' ? { countedRoute: ALL_ROUTES } : {}
    return this.#decide(policy, { ...request, ...countedRoute, form: 'path' }, startMs)
  }

  /** Like `check`, without the built-in policy. Returns undefined if nobody wrote a policy that applies. */
  checkWritten(check: CheckedRequest, startMs = performance.now()): CheckResult | undefined | Promise<CheckResult> {
    const { clientId, route, attributes } = check
    const policy = this.#policies.find(clientId, route, attributes)
    if (policy.source !== 'built-in') return this.#decide(policy, check, startMs)
    const [primary, ...layers] = this.#policies.layersFor(clientId, route, attributes)
    return primary && this.#layered.check(this.#sets.setFor(primary, layers), check, startMs)
  }

  /** Like `check`, under nothing but a plain policy that comes with the request and is not in the book. */
  checkUnder(policy: Policy, check: CheckedRequest, startMs = performance.now()): CheckResult | Promise<CheckResult> {
    return this.#decideAlone(policy, check, startMs)
  }

  /** Gives `refunded` units back, and returns the decision that a check would get then. Otherwise like `checkWritten`. */
  lookWritten(request: CheckRequest, refunded: number): Look | undefined | Promise<Look> {
    return this.#counters.lookWritten(request, refunded)
  }

  /** Like `lookWritten`, under nothing but a plain policy that is not in the book. */
  lookUnder(policy: Policy, { clientId, route, cost }: CheckRequest, refunded: number): Look | Promise<Look> {
    const { limiter, responder } = this.#limiters.limiterFor(policy)
    const key = countedKey(policy, clientId, route)
    const seen = (decision: Decision): Look => ({ policy, decision, allowed: decision.allowed, responder })
    const refund = refunded === 0 ? undefined : limiter.refund(key, refunded)
    const decision = limiter.peek(key, { cost })
    return decision instanceof Promise ? Promise.all([decision, refund]).then(([known]) => seen(known)) : seen(decision)
  }

  /** Returns the decision that a check would get now. Spends nothing. */
  usage(request: CheckRequest): Promise<Usage> {
    return this.#counters.usage(request)
  }

  /** Resets the counters that the client shares with no other client. */
  reset(request: RequestFacts): Promise<Policy> {
    return this.#counters.reset(request)
  }

  /** Gives units back on every rule that a check spends on. Returns the used units of the first rule. */
  refund(request: CheckRequest): Promise<Counted> {
    return this.#counters.refund(request)
  }

  /** Sets the count of one rule to `used`. `rule` is its name, or `policy/rule`. Default: the first rule. */
  set(request: RequestFacts, used: number, rule: string | undefined): Promise<Counted & { readonly rule: string }> {
    return this.#counters.set(request, used, rule)
  }

  /** Releases the fallback counters. */
  close(): void {
    this.#maker.close()
  }

  /** `policy` is the most specific policy. */
  #decide(policy: Policy, check: CheckedRequest, startMs: number): CheckResult | Promise<CheckResult> {
    const { clientId, route, attributes } = check
    const layers = this.#policies.layersFor(clientId, route, attributes)
    if (layers.length > 0 || !policy.isPlain) return this.#layered.check(this.#sets.setFor(policy, layers), check, startMs)
    return this.#decideAlone(policy, check, startMs)
  }

  #decideAlone(policy: Policy, check: CheckedRequest, startMs: number): CheckResult | Promise<CheckResult> {
    const { clientId, route, countedRoute = route, cost } = check
    const entry = this.#limiters.limiterFor(policy)
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

  #answered({ source }: Decision, startMs: number): void {
    if (this.#canFail && source === 'store') this.health.answered((performance.now() - startMs) / 1000)
  }

  #resultOf(entry: PolicyLimiter, check: CheckedRequest, decision: Decision, startMs: number): CheckResult {
    const { policy, responder } = entry
    const isShadow = policy.mode === 'shadow'
    // If nothing was counted, the rules did not deny.
    const isShadowDenied = !decision.allowed && isShadow && !isUncounted(decision)
    const allowed = decision.allowed || isShadow
    this.#stats.checkSeconds.observe((performance.now() - startMs) / 1000)
    this.#stats.record(entry.policyStats, policy.name, reasonFor(policy, decision), check, decision)
    if (isShadow) this.#stats.recordShadow(policy, check.clientId, isShadowDenied ? decision.rule : undefined)
    if (allowed || policy.shownReason === undefined) return { policy, decision, allowed, isShadowDenied, responder }
    return { policy, decision, allowed, isShadowDenied, responder, reason: policy.shownReason }
  }
}
