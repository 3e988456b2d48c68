// Rate limit fields of earlier drafts, and those that were usual before any draft.

import { type ImportedStyle, integer, type RuleTable, resetMs, resetSeconds, seconds } from './rate-limit-fields.ts'

/** `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-07, `RateLimit` about the reported rule. */
export const draft7Style: ImportedStyle = /* @__PURE__ */ Object.assign<ImportedStyle, Pick<ImportedStyle, 'draft'>>(
  (table) => {
    const policy = unnamedPolicies(table)
    return (headers, decision) => {
      const reset = resetSeconds(decision, table.of(decision.rule))
      headers['RateLimit-Policy'] = policy
      headers.RateLimit = `limit=${integer(decision.limit)}, remaining=${integer(decision.remaining)}, reset=${reset}`
    }
  },
  { draft: 'draft-7' },
)

/** The four fields of draft-ietf-httpapi-ratelimit-headers-06, three of them about the reported rule. */
export const draft6Style: ImportedStyle = /* @__PURE__ */ Object.assign<ImportedStyle, Pick<ImportedStyle, 'draft'>>(
  (table) => {
    const policy = unnamedPolicies(table)
    return (headers, decision) => {
      headers['RateLimit-Policy'] = policy
      headers['RateLimit-Limit'] = `${integer(decision.limit)}`
      headers['RateLimit-Remaining'] = `${integer(decision.remaining)}`
      headers['RateLimit-Reset'] = `${resetSeconds(decision, table.of(decision.rule))}`
    }
  },
  { draft: 'draft-6' },
)

/** `X-RateLimit-Limit`, `-Remaining` and `-Reset`, about the reported rule. */
export const legacyStyle: ImportedStyle = (table) => (headers, decision, nowMs) => {
  headers['X-RateLimit-Limit'] = `${decision.limit}`
  headers['X-RateLimit-Remaining'] = `${decision.remaining}`
  headers['X-RateLimit-Reset'] = `${seconds(nowMs() + resetMs(decision, table.of(decision.rule)))}`
}

/** Returns the policies for earlier drafts, which have no names. If two have the same quota, only the stricter one is shown. */
function unnamedPolicies(table: RuleTable): string {
  const windows = new Map<number, number>()
  for (const { limit, windowSeconds } of table.rows) windows.set(limit, Math.max(windowSeconds, windows.get(limit) ?? 0))
  return [...windows].map(([limit, windowSeconds]) => `${limit};w=${windowSeconds}`).join(', ')
}
