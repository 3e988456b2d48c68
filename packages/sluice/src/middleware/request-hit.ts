// The hit that a request makes on one limiter, and its way back if it turns out not to be charged.
// What must stay true: what is given back was taken, and still counts. A window that has ended took its charges with it.

import type { Decision, RuleStatus } from '../core/decision.ts'
import type { Rule } from '../core/rule.ts'
import type { Plan } from './plans.ts'
import { isPromise, type Soon } from './soon.ts'

export class RequestHit {
  readonly plan: Plan
  readonly key: string
  readonly cost: number
  /** Undefined until the hit is made, and where it could not be. */
  decision: Decision | undefined
  #madeAtMs = 0

  constructor(plan: Plan, key: string, cost: number) {
    this.plan = plan
    this.key = key
    this.cost = cost
  }

  /** Makes the hit. If it may have to be given back, it is noted when that was. */
  make(mayRefund: boolean): Soon<void> {
    const { limiter } = this.plan
    // Before the hit: on a store far away the charge may seem older than it is, and is then kept.
    if (mayRefund) this.#madeAtMs = limiter.clock.now()
    const made = limiter.hit(this.key, this.cost === 1 ? undefined : { cost: this.cost })
    if (!isPromise(made)) this.decision = made
    else {
      return made.then((decision) => {
        this.decision = decision
      })
    }
  }

  /** Gives back what was taken, on each rule under which it still counts. */
  refund(): void {
    const { decision, key, cost } = this
    const { limiter } = this.plan
    // Who stood in for the store took nothing there.
    if (decision === undefined || decision.source === 'fallback') return
    const elapsedMs = limiter.clock.now() - this.#madeAtMs
    const { rules } = decision
    const counting = rules.filter((status, i) => elapsedMs < countsForMs(status, limiter.rules[i]))
    if (counting.length === rules.length) attempt(() => limiter.refund(key, cost))
    else for (const { name } of counting) attempt(() => limiter.refund(key, cost, { rule: name }))
  }
}

/** Of hits that were denied the one with the longest wait, else the one with least room. */
export function speakerOf(hits: readonly RequestHit[]): RequestHit | undefined {
  let speaker: RequestHit | undefined
  for (const hit of hits) {
    if (hit.decision === undefined) continue
    if (speaker?.decision === undefined || speaksBefore(hit.decision, speaker.decision)) speaker = hit
  }
  return speaker
}

function speaksBefore(a: Decision, b: Decision): boolean {
  return a.allowed && b.allowed ? a.remaining < b.remaining : a.retryAfterMs > b.retryAfterMs
}

/** For how long after a hit its charge is in the window that it was made in. */
function countsForMs({ resetAfterMs }: RuleStatus, { windowMs }: Rule): number {
  // A sliding window takes another window to forget; by then the charge has become a share of one.
  return resetAfterMs > windowMs ? resetAfterMs - windowMs : resetAfterMs
}

/** The response has gone, so nobody is left to be told: a refund that fails leaves the charge, and `limiter.on('failure')` tells. */
function attempt(refund: () => Soon<number>): void {
  try {
    const refunded = refund()
    if (isPromise(refunded)) refunded.then(undefined, () => {})
  } catch {}
}
