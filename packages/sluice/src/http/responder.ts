// Turns a decision into an HTTP status, headers and a body, for any framework.
// Invariant: every value is safe to send, for any names of rules.

import type { Clock } from '../core/clock.ts'
import type { Decision } from '../core/decision.ts'
import { mustBe, SluiceError, show } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import type { Rule } from '../core/rule.ts'
import { type AddFields, draft10, type HeaderStyle, RuleTable, seconds } from './rate-limit-fields.ts'
import { byteSequence } from './structured-field.ts'

/** Identifies the client of a quota, in a form that clients may see. */
export type PartitionKey = string | Uint8Array

export interface ResponderOptions {
  /** The rules of the limiter: `limiter.rules`. */
  readonly rules: readonly Rule[]
  /** Styles of the rate limit fields: one style, `legacy` with another style, or false for none. Default: `draft10`. */
  readonly headers?: HeaderStyle | readonly HeaderStyle[] | false
  /** The clock for `X-RateLimit-Reset`. Default: the system's. */
  readonly clock?: Pick<Clock, 'now'>
}

/** The HTTP response to a denied request. */
export interface Denial {
  /** 429, or 503 if the request was denied because the store failed. */
  readonly status: number
  /** All of `headers()`, and the body's `Content-Type`. */
  readonly headers: Readonly<Record<string, string>>
  /** A problem (RFC 9457) as JSON. */
  readonly body: string
}

export interface Responder {
  /** Returns the headers for a decision: rate limit fields, and `Retry-After` if it denies. */
  headers(decision: Decision, partitionKey?: PartitionKey): Record<string, string>
  /** Returns the whole response to a denied hit. */
  denial(decision: Decision, partitionKey?: PartitionKey): Denial
}

const OPTIONS = ['rules', 'headers', 'clock'] as const

const PROBLEM_TYPES = 'https://iana.org/assignments/http-problem-types'

/** Makes a responder: it turns decisions of one limiter into status, headers and body. Make it once for each limiter. */
export function createResponder(options: ResponderOptions): Responder {
  checkOptions('createResponder', options, OPTIONS)
  const { rules, headers = draft10, clock = Date } = options
  if (!Array.isArray(rules) || rules.length === 0) {
    throw new SluiceError('ERR_OPTION', `createResponder needs rules to be the rules of a limiter, got ${show(rules)}`, {
      option: 'rules',
      value: rules,
    })
  }
  const responder = new RuleResponder(rules, checkStyles(headers), clock)
  return {
    headers: (decision, partitionKey) => responder.headers(decision, partitionOf(partitionKey)),
    denial: (decision, partitionKey) => responder.denial(decision, partitionOf(partitionKey)),
  }
}

function partitionOf(key: PartitionKey | undefined): string {
  return key === undefined ? '' : `;pk=${byteSequence(key)}`
}

/** A responder whose options have been checked. It takes the parameter with the partition key as text. */
export class RuleResponder {
  readonly #table: RuleTable
  readonly #styles: readonly AddFields[]
  readonly #nowMs: () => number

  constructor(rules: readonly Rule[], styles: readonly HeaderStyle[], clock: Pick<Clock, 'now'>) {
    const table = new RuleTable(rules)
    this.#table = table
    this.#styles = styles.map((style) => style.fieldsOf(table))
    this.#nowMs = () => clock.now()
  }

  headers(decision: Decision, partition = ''): Record<string, string> {
    const headers: Record<string, string> = {}
    // Without the store, the units left are not known.
    if (!isUncountedDenial(decision)) {
      for (const add of this.#styles) add(headers, decision, this.#nowMs, partition)
    }
    const { retryAfterMs } = decision
    if (retryAfterMs > 0 && retryAfterMs < Number.POSITIVE_INFINITY) headers['Retry-After'] = `${seconds(retryAfterMs)}`
    return headers
  }

  denial(decision: Decision, partition = ''): Denial {
    const isWithoutStore = isUncountedDenial(decision)
    const status = isWithoutStore ? 503 : 429
    const headers = this.headers(decision, partition)
    headers['Content-Type'] = 'application/problem+json'
    const violated = isWithoutStore ? [] : decision.rules.filter(({ retryAfterMs }) => retryAfterMs > 0)
    const body = JSON.stringify({
      type: `${PROBLEM_TYPES}#${isWithoutStore ? 'temporary-reduced-capacity' : 'quota-exceeded'}`,
      title: isWithoutStore ? 'Temporary Reduced Capacity' : 'Quota Exceeded',
      status,
      detail: whenToRetry(headers['Retry-After']),
      'violated-policies': violated.map(({ name }) => this.#table.of(name).label),
    })
    return { status, headers, body }
  }
}

/** True if the request was denied because the store failed. Nothing was counted. */
function isUncountedDenial({ failure }: Decision): boolean {
  return failure?.then === 'deny'
}

function whenToRetry(seconds: string | undefined): string {
  return seconds === undefined ? 'This request asks for more than the whole quota.' : `Try again in ${seconds} s.`
}

/** Returns the styles. Throws ERR_OPTION unless `headers` is a style, compatible styles, or false. */
export function checkStyles(headers: ResponderOptions['headers']): readonly HeaderStyle[] {
  const styles = headers === false ? [] : [...new Set([headers].flat() as readonly HeaderStyle[])]
  for (const style of styles) {
    if (typeof style?.fieldsOf === 'function') continue
    throw mustBe('ERR_OPTION', 'headers', 'false, or draft10, draft7, draft6 or legacy of sluice/http', style)
  }
  const drafts = styles.filter(({ lists }) => lists.length > 0)
  if (drafts.length < 2) return styles
  const names = drafts.map(({ name }) => name).join(', ')
  throw new SluiceError('ERR_OPTION', `headers takes one draft, because drafts share field names, got ${names}`)
}
