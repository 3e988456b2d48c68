// A request may pass several gates. These functions find the states and fields that are left for the present gate.
// Invariant: a request charges a state once. A field that can describe only one limiter describes the tightest.

import type { Rule } from '../../core/rule.ts'
import type { Subject } from '../../core/subject.ts'
import { isUncounted } from '../../http/responder.ts'
import { costOf } from './costs.ts'
import type { GateLimiter } from './gate-limiter.ts'
import type { GateContext } from './request-context.ts'

/** Returns the rules of `limiter` whose states no earlier gate has charged for this request. */
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

/** One member of a list field. A quoted name may contain commas. */
const MEMBER = /(?:"(?:\\.|[^"\\])*"|[^",])+/g

/** The quoted name at the start of a member. */
const NAME = /^"(?:\\.|[^"\\])*"/

/** Returns the members of `RateLimit-Policy` that no other limiter of the request has written. */
export function freshPolicies(context: GateContext, policies: string): string {
  if (context.latest === context && context.before === undefined) return policies
  const written = new Set<string>()
  for (let other = context.latest; other !== undefined; other = other.before) {
    if (other !== context && other.policies !== undefined)
      for (const member of membersOf(other.policies)) written.add(idOf(member))
  }
  return membersOf(policies)
    .filter((member) => !written.has(idOf(member)))
    .join(', ')
}

function membersOf(list: string): readonly string[] {
  return (list.match(MEMBER) ?? []).map((member) => member.trim())
}

/** Returns the name of a policy. Policies of earlier drafts have no names; they are compared as a whole. */
function idOf(member: string): string {
  return NAME.exec(member)?.[0] ?? member
}

/** True if all other limiters of the request have more units left. */
export function isTightest(context: GateContext): boolean {
  for (let other = context.latest; other !== undefined; other = other.before) {
    if (other !== context && unitsLeft(other) <= unitsLeft(context)) return false
  }
  return true
}

/** Returns −1 for a denial, and Infinity if nothing was counted: such a limiter has no fields to write. */
function unitsLeft({ denial, decision }: GateContext): number {
  if (denial !== undefined) return -1
  return decision === undefined || isUncounted(decision) ? Number.POSITIVE_INFINITY : decision.remaining
}
