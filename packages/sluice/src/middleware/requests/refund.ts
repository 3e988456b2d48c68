// A refund gives a request its units back, because its response is not charged.
// Invariants:
// - A refund gives back only units that were spent and still count. Units of a window that has ended do not count.
// - The units go back to the store or the stand-in, whichever spent them. Other units there belong to other requests.

import type { RuleStatus } from '../../core/decision.ts'
import type { Rule } from '../../core/rule.ts'
import { costsOf } from '../gate/costs.ts'
import { tryThen } from '../gate/maybe-promise.ts'
import type { Charged } from '../gate/request-context.ts'

/** Gives a request's units back, in one call, on each rule on which they still count. */
export function refund({ decision, limiter: { limiter }, key, cost, hitAtMs }: Charged): void {
  const { rules } = limiter
  const { source } = decision
  const elapsedMs = limiter.clock.now() - hitAtMs
  const counting = decision.rules.filter((status) => {
    const rule = rules.find(({ name }) => name === status.name)
    return rule !== undefined && elapsedMs < countsForMs(status, rule)
  })
  if (counting.length === 0) return
  const isAll = counting.length === rules.length
  const costs = isAll ? cost : costsOf(rules, cost, (rule) => counting.some(({ name }) => name === rule))
  // The response has been sent. If the refund fails, the charge stays, and `limiter.on('failure')` reports it.
  tryThen(() => limiter.refund(key, costs, { source }), ignore, ignore)
}

/** Returns the time after a hit during which its units are in the window of the hit. */
function countsForMs({ resetAfterMs }: RuleStatus, { windowMs }: Rule): number {
  // A sliding window counts units for another window, but then only a share of them.
  return resetAfterMs > windowMs ? resetAfterMs - windowMs : resetAfterMs
}

function ignore(): void {}
