// Rate limit fields, and the default style. earlier-styles.ts has the others. Texts that depend only on the rules are made once, not for each decision.

import type { Decision, RuleStatus } from '../core/decision.ts'
import { SluiceError, show } from '../core/errors.ts'
import type { Rule } from '../core/rule.ts'
import { printable, string } from './structured-field.ts'

/** A style of rate limit fields: `draft10`, `draft7`, `draft6` or `legacy`. */
export interface HeaderStyle {
  readonly name: string
  /** Names of its fields that are lists. Several limiters add to them. Two styles of one response must not share a list. */
  readonly lists: readonly string[]
  /** Makes the function that adds fields for the rules of a table. */
  fieldsOf(table: RuleTable): AddFields
}

/** Adds a decision's fields to `headers`. `partition` is the parameter with the partition key, or an empty text. */
export type AddFields = (headers: Record<string, string>, decision: Decision, nowMs: () => number, partition: string) => void

/** The largest Integer of a structured field: fifteen digits. A limit may have more. */
const MOST_INTEGER = 999_999_999_999_999

/** Returns a whole number as an Integer of a structured field. Larger numbers become the largest Integer. */
export function integer(value: number): number {
  return Math.min(value, MOST_INTEGER)
}

/**
 * Returns whole seconds, rounded up. Exact, because a quotient of whole numbers below 2^53 never rounds across a whole number.
 */
export function seconds(ms: number): number {
  return Math.ceil(ms / 1000)
}

/** The texts about a rule that do not depend on the decision. */
interface RuleFields {
  /** The rule's name, in printable ASCII. */
  readonly label: string
  /** The label as a structured field's String. */
  readonly item: string
  readonly limit: number
  readonly windowMs: number
  readonly windowSeconds: number
}

/** Each rule's fields, by the rule's name. */
export class RuleTable {
  readonly rows: readonly RuleFields[]
  readonly #byName: ReadonlyMap<string, RuleFields>

  constructor(rules: readonly Rule[]) {
    this.rows = rules.map(({ name, limit, windowMs }) => {
      const label = printable(name)
      return { label, item: string(label), limit: integer(limit), windowMs, windowSeconds: seconds(windowMs) }
    })
    this.#byName = new Map(rules.map(({ name }, i) => [name, this.rows[i]]))
  }

  of(name: string): RuleFields {
    const row = this.#byName.get(name)
    if (row !== undefined) return row
    throw new SluiceError('ERR_RULE_NAME', `the decision is about a rule that the responder does not know: ${show(name)}`)
  }
}

/** The status of a rule, or of the whole decision, after a hit. */
type Status = Pick<RuleStatus, 'remaining' | 'retryAfterMs' | 'resetAfterMs'>

/**
 * Returns the time for which the status of a rule holds. After a denied hit: until that hit passes. Otherwise: until all units
 * are free again. While units are left, it is at most the rule's window, because a sliding window counts units for up to two
 * windows.
 */
export function resetMs({ remaining, retryAfterMs, resetAfterMs }: Status, { windowMs }: RuleFields): number {
  if (retryAfterMs > 0 && retryAfterMs < Number.POSITIVE_INFINITY) return retryAfterMs
  return remaining > 0 ? Math.min(resetAfterMs, windowMs) : resetAfterMs
}

export function resetSeconds(status: Status, row: RuleFields): number {
  return seconds(resetMs(status, row))
}

/** `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-10, with a member for each rule. The default. */
export const draft10: HeaderStyle = {
  name: 'draft10',
  lists: ['RateLimit-Policy', 'RateLimit'],
  fieldsOf: (table) => {
    const policies = table.rows.map(({ item, limit, windowSeconds }) => `${item};q=${limit};w=${windowSeconds}`)
    const policy = policies.join(', ')
    const member = (name: string, status: Status): string => {
      const row = table.of(name)
      return `${row.item};r=${integer(status.remaining)};t=${resetSeconds(status, row)}`
    }
    return (headers, decision, _nowMs, partition) => {
      headers['RateLimit-Policy'] = partition === '' ? policy : policies.map((each) => each + partition).join(', ')
      // With one rule, the decision itself has its status. Reading `rules` would make an array.
      if (policies.length === 1) headers.RateLimit = member(decision.rule, decision) + partition
      else headers.RateLimit = decision.rules.map((status) => member(status.name, status) + partition).join(', ')
    }
  },
}
