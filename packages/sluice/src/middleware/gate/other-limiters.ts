// A request that passes several limiters: rules that count it already, and fields that have room for one limiter.

import type { Rule } from '../../core/rule.ts'
import type { Subject } from '../../core/subject.ts'
import { costOf } from './costs.ts'
import type { GateLimiter } from './gate-limiter.ts'
import type { GateContext } from './request-context.ts'

/** The rules of `limiter` under which no gate before this one has charged the request on the same state. */
export function freshRules({ before }: GateContext, limiter: GateLimiter, subject: Subject): readonly Rule[] {
  return limiter.limiter.rules.filter((rule) => {
    for (let context = before; context !== undefined; context = context.before) {
      const { charged } = context
      if (charged === undefined || costOf(rule.name, charged.cost) === 0) continue
      if (limiter.shares(rule, subject, charged.limiter, charged.key)) return false
    }
    return true
  })
}

/** True if no other limiter that the request has come to has as few units left, or fewer. */
export function isTightest(context: GateContext): boolean {
  for (let other = context.latest; other !== undefined; other = other.before) {
    if (other !== context && unitsLeft(other) <= unitsLeft(context)) return false
  }
  return true
}

function unitsLeft({ denial, decision }: GateContext): number {
  return denial === undefined ? (decision?.remaining ?? Number.POSITIVE_INFINITY) : -1
}
