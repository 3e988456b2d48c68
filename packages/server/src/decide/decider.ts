// Decides checks: finds the policy, asks its limiter, applies its mode, and counts the answer.
// Invariant: on a memory store a check is answered at once, without a promise; and every check is counted once.

import type { Decision, FailureOptions, Store } from 'sluice'
import type { Responder } from 'sluice/http'
import type { Policy } from '../policies/policy.ts'
import type { PolicyBook } from '../policies/policy-book.ts'
import { REASON, type Reason } from '../stats/figures.ts'
import type { CheckedRequest, Stats } from '../stats/stats.ts'
import { countedKey } from './counted-key.ts'
import { type PolicyLimiter, PolicyLimiters } from './policy-limiters.ts'
import { StoreHealth } from './store-health.ts'

/** The answer to a check. */
export interface Verdict {
  readonly policy: Policy
  /** What the rules say. A policy that is off has not asked them. */
  readonly decision: Decision
  /** What the caller is told: not always what the rules say, see the policy's mode. */
  readonly allowed: boolean
  /** The rules deny, but the policy only watches. */
  readonly isShadowDenied: boolean
  /** Tells of the decision in headers. */
  readonly responder: Responder
}

export interface Usage {
  readonly policy: Policy
  readonly decision: Decision
}

/** The route under which the built-in policy counts a client that chooses its routes itself. */
export const ALL_ROUTES = '*'

interface AskedCheck extends CheckedRequest {
  /** When it was asked for. */
  readonly startMs: number
}

export interface DeciderOptions {
  readonly store: Store
  readonly failure: Omit<FailureOptions, 'standIn'>
  /** The most counters that stand in for those of the store, where the failure mode is `local`. */
  readonly standInKeys: number
  readonly policies: PolicyBook
  readonly stats: Stats
}

export class Decider {
  readonly health = new StoreHealth()
  readonly #policies: PolicyBook
  readonly #limiters: PolicyLimiters
  readonly #stats: Stats

  constructor({ store, failure, standInKeys, policies, stats }: DeciderOptions) {
    this.#policies = policies
    this.#stats = stats
    this.#limiters = new PolicyLimiters({ store, failure, standInKeys, stats, health: this.health })
  }

  /**
   * Decides and spends. At once on a memory store; else with a promise, which rejects if the store failed and nobody stands in.
   * `startMs` is when it was asked for, if several were at once.
   */
  check(clientId: string, route: string, cost: number, startMs = performance.now()): Verdict | Promise<Verdict> {
    return this.#decide(this.#policies.find(clientId, route), { clientId, route, cost, startMs })
  }

  /**
   * Decides and spends, for a route that the client chose itself, such as the path of a forwarded request. The built-in policy then counts
   * all routes of a client as one, or a client could escape it with a new path for each request. Any other policy counts as its scope says.
   */
  checkPath(clientId: string, path: string, cost: number): Verdict | Promise<Verdict> {
    const policy = this.#policies.find(clientId, path)
    const counted = policy.source === 'built-in' ? { countedRoute: ALL_ROUTES } : {}
    return this.#decide(policy, { clientId, route: path, cost, startMs: performance.now(), ...counted })
  }

  #decide(policy: Policy, check: AskedCheck): Verdict | Promise<Verdict> {
    const asked = this.#limiters.of(policy)
    const { clientId, route, countedRoute = route, cost, startMs } = check
    if (policy.mode === 'off') return this.#verdict(asked, check, asked.free)
    const key = countedKey(policy, clientId, countedRoute)
    const answer = cost === 1 ? asked.limiter.hit(key) : asked.limiter.hit(key, { cost })
    if (!(answer instanceof Promise)) return this.#verdict(asked, check, answer)
    return answer.then(
      (decision) => {
        if (decision.source === 'store') this.health.answered((performance.now() - startMs) / 1000)
        return this.#verdict(asked, check, decision)
      },
      (error: unknown) => {
        this.#stats.recordError(asked.figures)
        throw error
      },
    )
  }

  /** What a hit of `cost` would get now; spends nothing. */
  async usage(clientId: string, route: string, cost: number): Promise<Usage> {
    const { asked, key } = this.#find(clientId, route)
    return { policy: asked.policy, decision: await asked.limiter.peek(key, { cost }) }
  }

  /** Forgets what was counted. */
  async reset(clientId: string, route: string): Promise<Policy> {
    const { asked, key } = this.#find(clientId, route)
    await asked.limiter.reset(key)
    return asked.policy
  }

  /** Gives units back on every rule; → units used on the first. */
  async refund(clientId: string, route: string, cost: number): Promise<{ readonly policy: Policy; readonly used: number }> {
    const { asked, key } = this.#find(clientId, route)
    return { policy: asked.policy, used: await asked.limiter.refund(key, cost) }
  }

  /** Puts the count of one rule, the first unless named, at `used`. */
  async set(
    clientId: string,
    route: string,
    used: number,
    rule: string | undefined,
  ): Promise<{ readonly policy: Policy; readonly used: number }> {
    const { asked, key } = this.#find(clientId, route)
    return { policy: asked.policy, used: await asked.limiter.set(key, used, rule === undefined ? {} : { rule }) }
  }

  /** Releases the counters that stand in for the store. */
  close(): void {
    this.#limiters.close()
  }

  #find(clientId: string, route: string): { readonly asked: PolicyLimiter; readonly key: string } {
    const policy = this.#policies.find(clientId, route)
    return { asked: this.#limiters.of(policy), key: countedKey(policy, clientId, route) }
  }

  #verdict(asked: PolicyLimiter, check: AskedCheck, decision: Decision): Verdict {
    const { policy } = asked
    const isShadowDenied = !decision.allowed && policy.mode === 'shadow'
    this.#stats.checkSeconds.observe((performance.now() - check.startMs) / 1000)
    this.#stats.record(asked.figures, policy.name, reasonFor(policy, decision), check, decision)
    return { policy, decision, allowed: decision.allowed || isShadowDenied, isShadowDenied, responder: asked.responder }
  }
}

function reasonFor({ mode }: Policy, { allowed, retryAfterMs }: Decision): Reason {
  if (mode === 'off') return REASON.off
  if (allowed) return REASON.within
  if (mode === 'shadow') return REASON.shadow
  return retryAfterMs === Number.POSITIVE_INFINITY ? REASON.cost : REASON.limit
}
