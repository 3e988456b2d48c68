// Rate limit fields of the present drafts, and the table of rules for every style. Texts that depend only on the rules are made once, not
// for each decision.

import type { Decision, RuleStatus } from '../core/decision.ts'
import { SluiceError, show } from '../core/errors.ts'
import type { Rule } from '../core/rule.ts'
import { printable, string } from './structured-field.ts'

/**
 * - `'draft-11'`: `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-11, with a member for each rule.
 * - `'draft-10'`: another name for `'draft-11'`. The fields of both drafts are the same.
 */
export type HeaderStyle = 'draft-11' | 'draft-10'

/**
 * A style that is imported, such as `legacyStyle`: makes the function that adds fields. A program that does not import it does not
 * carry its code. Throws ERR_RULE_NAME if the style has no field for any of the rules.
 */
export interface ImportedStyle {
  (table: RuleTable): AddFields
  /** Name of the draft that the style follows. Responses follow at most one. */
  readonly draft?: string
}

/** Type and title of a problem (RFC 9457). */
export interface Problem {
  type: string
  title: string
}

/**
 * Adds a decision's fields to `headers`. `partition` is the parameter with the partition key, or an empty text. `problem` is set if the
 * fields are those of a denial: a style may change its type and title.
 */
export type AddFields = (
  headers: Record<string, string>,
  decision: Decision,
  nowMs: () => number,
  partition: string,
  problem?: Problem,
) => void

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
export interface RuleFields {
  /** The rule's name, in printable ASCII. */
  readonly label: string
  /** The label as a structured field's String. */
  readonly item: string
  readonly limit: number
  readonly windowMs: number
  readonly windowSeconds: number
  readonly isHeld: boolean | undefined
}

/** Each rule's fields, by the rule's name. A rule that occurs twice has one row. */
export class RuleTable {
  readonly rows: readonly RuleFields[]
  readonly #byName = new Map<string, RuleFields>()

  /** Throws ERR_RULE_NAME if two rules share a name and differ in their quota: a field could not tell them apart. */
  constructor(rules: readonly Rule[]) {
    for (const { name, limit, windowMs, isHeld } of rules) {
      const label = printable(name)
      const row = { label, item: string(label), limit: integer(limit), windowMs, windowSeconds: seconds(windowMs), isHeld }
      const known = this.#byName.get(name)
      if (known === undefined) this.#byName.set(name, row)
      else if (known.limit !== row.limit || known.windowMs !== windowMs) {
        throw new SluiceError('ERR_RULE_NAME', `two different rules are called ${show(name)}: give each a name of its own`)
      }
    }
    this.rows = [...this.#byName.values()]
  }

  of(name: string): RuleFields {
    const row = this.#byName.get(name)
    if (row !== undefined) return row
    throw new SluiceError('ERR_RULE_NAME', `the responder does not know the rule ${show(name)}`)
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

/** The fields of the drafts 10 and 11. */
export function namedMembers(table: RuleTable): AddFields {
  const policies = table.rows.map(({ item, limit, windowSeconds, isHeld }) => {
    // Places that are held have no window.
    return `${item};q=${limit};${isHeld ? 'qu="concurrent-requests"' : `w=${windowSeconds}`}`
  })
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
}
