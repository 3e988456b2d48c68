// From a decision to what HTTP says about it: status, headers, body. No framework in sight.
// Invariant: every value is safe to send, whatever the rules are called.

import type { Clock } from '../core/clock.ts'
import type { Decision } from '../core/decision.ts'
import { SluiceError, show } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import type { Rule } from '../core/rule.ts'
import { type AddFields, type HeaderStyle, type PartitionKey, RuleTable, STYLES, seconds } from './rate-limit-fields.ts'

export interface ResponderOptions {
  /** The rules of the limiter whose decisions it will see: `limiter.rules`. */
  readonly rules: readonly Rule[]
  /** The rate limit fields to send: a style, `'legacy'` beside another, or none. Default: `'draft-10'`. */
  readonly headers?: HeaderStyle | readonly HeaderStyle[] | false
  /** The clock for `X-RateLimit-Reset`. Default: the system's. */
  readonly clock?: Pick<Clock, 'now'>
}

/** The HTTP answer to a denied request. */
export interface Denial {
  /** 429, or 503 where not the client is to blame. */
  readonly status: number
  /** All of `headers()`, and the body's `Content-Type`. */
  readonly headers: Readonly<Record<string, string>>
  /** A problem (RFC 9457) as JSON. */
  readonly body: string
}

export interface Responder {
  /** Fields about a decision, allowed or not: rate limit fields, and `Retry-After` if it denies. */
  headers(decision: Decision, partitionKey?: PartitionKey): Record<string, string>
  /** The whole answer to a hit that was denied. */
  denial(decision: Decision, partitionKey?: PartitionKey): Denial
}

export const DEFAULT_STYLE: HeaderStyle = 'draft-10'

const OPTIONS = ['rules', 'headers', 'clock'] as const

const PROBLEM_TYPES = 'https://iana.org/assignments/http-problem-types'

/** Turns decisions of one limiter into status, headers and body. Make it once and keep it beside the limiter. */
export function createResponder(options: ResponderOptions): Responder {
  checkOptions('createResponder', options, OPTIONS)
  const { rules, headers = DEFAULT_STYLE, clock = Date } = options
  if (!Array.isArray(rules) || rules.length === 0) {
    throw new SluiceError('ERR_OPTION', `createResponder needs rules to be those of a limiter, got ${show(rules)}`, {
      option: 'rules',
      value: rules,
    })
  }
  return new RuleResponder(rules, checkStyles(headers), clock)
}

/** A responder whose options have been checked. */
export class RuleResponder implements Responder {
  readonly #table: RuleTable
  readonly #styles: readonly AddFields[]
  readonly #nowMs: () => number

  constructor(rules: readonly Rule[], styles: readonly HeaderStyle[], clock: Pick<Clock, 'now'>) {
    const table = new RuleTable(rules)
    this.#table = table
    this.#styles = styles.map((style) => STYLES[style](table))
    this.#nowMs = () => clock.now()
  }

  headers(decision: Decision, partitionKey?: PartitionKey): Record<string, string> {
    const headers: Record<string, string> = {}
    // Without the store nobody knows how much is left.
    if (!isUncountedDenial(decision)) {
      for (const add of this.#styles) add(headers, decision, this.#nowMs, partitionKey)
    }
    const { retryAfterMs } = decision
    if (retryAfterMs > 0 && retryAfterMs < Number.POSITIVE_INFINITY) headers['Retry-After'] = `${seconds(retryAfterMs)}`
    return headers
  }

  denial(decision: Decision, partitionKey?: PartitionKey): Denial {
    const isWithoutStore = isUncountedDenial(decision)
    const status = isWithoutStore ? 503 : 429
    const headers = this.headers(decision, partitionKey)
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

/** True if the store failed and nobody counted: the client is not to blame. */
function isUncountedDenial({ failure }: Decision): boolean {
  return failure?.then === 'deny'
}

function whenToRetry(seconds: string | undefined): string {
  return seconds === undefined ? 'This request asks for more than the whole quota.' : `Try again in ${seconds} s.`
}

/** Throws ERR_OPTION unless `headers` is a style, styles that go together, or false. Returns the styles. */
export function checkStyles(headers: ResponderOptions['headers']): readonly HeaderStyle[] {
  const styles = headers === false ? [] : ((Array.isArray(headers) ? headers : [headers]) as HeaderStyle[])
  for (const style of styles) {
    if (!Object.hasOwn(STYLES, style)) {
      const known = Object.keys(STYLES).map((name) => `'${name}'`)
      throw new SluiceError('ERR_OPTION', `headers must be ${known.join(', ')} or false, got ${show(style)}`, {
        option: 'headers',
        value: style,
      })
    }
  }
  const drafts = new Set(styles.filter((style) => style !== 'legacy'))
  if (drafts.size > 1) {
    throw new SluiceError('ERR_OPTION', `headers can hold one draft, as drafts share field names, got ${[...drafts].join(', ')}`)
  }
  return styles
}
