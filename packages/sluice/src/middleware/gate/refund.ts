// The way back of a charge whose response is not to be charged.
// Invariant: only units that were taken and still count are given back. A window that has ended took its charges with it.

import type { RuleStatus } from '../../core/decision.ts'
import type { Rule } from '../../core/rule.ts'
import { costsOf } from './costs.ts'
import { tryThen } from './maybe-promise.ts'
import type { Charged } from './request-context.ts'

/** Gives back what a request was charged, in one call, on each rule under which it still counts. */
export function refund({ decision, limiter: { limiter }, key, cost, hitAtMs }: Charged): void {
  // A fallback has taken nothing from the store.
  if (decision.source === 'fallback') return
  const { rules } = limiter
  const elapsedMs = limiter.clock.now() - hitAtMs
  const counting = decision.rules.filter((status) => {
    const rule = rules.find(({ name }) => name === status.name)
    return rule !== undefined && elapsedMs < countsForMs(status, rule)
  })
  if (counting.length === 0) return
  const isAll = counting.length === rules.length
  const costs = isAll ? cost : costsOf(rules, cost, (rule) => counting.some(({ name }) => name === rule))
  // The response has been sent. If the refund fails, the charge stays, and `limiter.on('failure')` tells.
  tryThen(() => limiter.refund(key, costs), ignore, ignore)
}

/** Time after a hit during which its charge is in the window that it was made in. */
function countsForMs({ resetAfterMs }: RuleStatus, { windowMs }: Rule): number {
  // A sliding window takes another window to forget; by then the charge has become a share of one.
  return resetAfterMs > windowMs ? resetAfterMs - windowMs : resetAfterMs
}

function ignore(): void {}
