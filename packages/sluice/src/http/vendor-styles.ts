// Header styles of LLM APIs. A rule has fields if its name is one of the vendor's: `requests`, `tokens` and so on.

import type { RuleStatus } from '../core/decision.ts'
import { SluiceError } from '../core/errors.ts'
import { type AddFields, type ImportedStyle, type RuleTable, seconds } from './rate-limit-fields.ts'

/** The last second of the year 9999. RFC 3339 has no later times. */
const LAST_SECOND = 253_402_300_799

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** OpenAI's fields, such as `x-ratelimit-remaining-tokens`, for the rules `requests` and `tokens`. */
export const openaiStyle: ImportedStyle = (table) =>
  fieldsByRule(table, ['requests', 'tokens'], ({ name, limit, remaining, resetAfterMs }) => ({
    [`x-ratelimit-limit-${name}`]: `${limit}`,
    [`x-ratelimit-remaining-${name}`]: `${remaining}`,
    [`x-ratelimit-reset-${name}`]: spelledDuration(resetAfterMs),
  }))

/**
 * Anthropic's fields, such as `anthropic-ratelimit-tokens-remaining`, for the rules `requests`, `tokens`, `input-tokens` and
 * `output-tokens`.
 */
export const anthropicStyle: ImportedStyle = (table) =>
  fieldsByRule(
    table,
    ['requests', 'tokens', 'input-tokens', 'output-tokens'],
    ({ name, limit, remaining, resetAfterMs }, nowMs) => ({
      [`anthropic-ratelimit-${name}-limit`]: `${limit}`,
      [`anthropic-ratelimit-${name}-remaining`]: `${remaining}`,
      [`anthropic-ratelimit-${name}-reset`]: timeOfDay(nowMs + resetAfterMs),
    }),
  )

type FieldsOf = (status: RuleStatus, nowMs: number) => Readonly<Record<string, string>>

/** Makes the function that adds the fields of each rule with one of the names. Other rules have no fields. */
function fieldsByRule({ rows }: RuleTable, names: readonly string[], fieldsOf: FieldsOf): AddFields {
  if (!rows.some(({ label }) => names.includes(label))) {
    const message = `this style of headers needs a rule that is called ${names.join(' or ')}`
    throw new SluiceError('ERR_RULE_NAME', message, { option: 'headers' })
  }
  return (headers, decision, nowMs) => {
    for (const status of decision.rules) {
      if (names.includes(status.name)) Object.assign(headers, fieldsOf(status, nowMs()))
    }
  }
}

/** Writes a duration such as `9ms`, `1.5s`, `6m0s` or `1h0m3s`. */
function spelledDuration(ms: number): string {
  if (ms > 0 && ms < SECOND_MS) return `${ms}ms`
  const hours = Math.floor(ms / HOUR_MS)
  const minutes = Math.floor((ms % HOUR_MS) / MINUTE_MS)
  const rest = `${(ms % MINUTE_MS) / SECOND_MS}s`
  if (hours > 0) return `${hours}h${minutes}m${rest}`
  return minutes > 0 ? `${minutes}m${rest}` : rest
}

/** Writes a time in RFC 3339, rounded up to a second. */
function timeOfDay(ms: number): string {
  const date = new Date(Math.min(seconds(ms), LAST_SECOND) * SECOND_MS)
  return `${date.toISOString().slice(0, -'.000Z'.length)}Z`
}
