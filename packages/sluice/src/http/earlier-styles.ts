// Styles of rate limit fields that came before `draft10`. Each is imported by name, so a bundle contains only those it uses.

import { type HeaderStyle, integer, type RuleTable, resetMs, resetSeconds, seconds } from './rate-limit-fields.ts'

/** `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-07, about the rule that speaks. */
export const draft7: HeaderStyle = {
  name: 'draft7',
  lists: ['RateLimit-Policy'],
  fieldsOf: (table) => {
    const policy = unnamedPolicies(table)
    return (headers, decision) => {
      const reset = resetSeconds(decision, table.of(decision.rule))
      headers['RateLimit-Policy'] = policy
      headers.RateLimit = `limit=${integer(decision.limit)}, remaining=${integer(decision.remaining)}, reset=${reset}`
    }
  },
}

/** Four fields of draft-ietf-httpapi-ratelimit-headers-06, about the rule that speaks. */
export const draft6: HeaderStyle = {
  name: 'draft6',
  lists: ['RateLimit-Policy'],
  fieldsOf: (table) => {
    const policy = unnamedPolicies(table)
    return (headers, decision) => {
      headers['RateLimit-Policy'] = policy
      headers['RateLimit-Limit'] = `${integer(decision.limit)}`
      headers['RateLimit-Remaining'] = `${integer(decision.remaining)}`
      headers['RateLimit-Reset'] = `${resetSeconds(decision, table.of(decision.rule))}`
    }
  },
}

/** `X-RateLimit-Limit`, `-Remaining` and `-Reset`, about the rule that speaks. */
export const legacy: HeaderStyle = {
  name: 'legacy',
  lists: [],
  fieldsOf: (table) => (headers, decision, nowMs) => {
    headers['X-RateLimit-Limit'] = `${decision.limit}`
    headers['X-RateLimit-Remaining'] = `${decision.remaining}`
    headers['X-RateLimit-Reset'] = `${seconds(nowMs() + resetMs(decision, table.of(decision.rule)))}`
  },
}

/** Returns the policies for earlier drafts. They have no names: of two with the same quota only the stricter one is shown. */
function unnamedPolicies(table: RuleTable): string {
  const windows = new Map<number, number>()
  for (const { limit, windowSeconds } of table.rows) windows.set(limit, Math.max(windowSeconds, windows.get(limit) ?? 0))
  return [...windows].map(([limit, windowSeconds]) => `${limit};w=${windowSeconds}`).join(', ')
}
