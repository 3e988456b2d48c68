// Turns a decision into an HTTP status, headers and a body, for any framework.
// Invariant: every value is safe to send, for any names of rules.

import type { Clock } from '../core/clock.ts'
import type { Decision } from '../core/decision.ts'
import { mustBe, SluiceError, show } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import type { Rule } from '../core/rule.ts'
import {
  type AddFields,
  type HeaderStyle,
  type ImportedStyle,
  namedMembers,
  type Problem,
  RuleTable,
  seconds,
} from './rate-limit-fields.ts'
import { byteSequence } from './structured-field.ts'

/** Identifies the client that a quota belongs to. Clients can see it. */
export type PartitionKey = string | Uint8Array

/** A style by name, or one that is imported. */
export type AnyStyle = HeaderStyle | ImportedStyle

export interface ResponderOptions {
  /** The rules of the limiter: `limiter.rules`. */
  readonly rules: readonly Rule[]
  /**
   * Styles of the rate limit fields: one style, a list of styles with at most one draft, or false for none. Default: `'draft-11'`.
   */
  readonly headers?: AnyStyle | readonly AnyStyle[] | false
  /** The clock for times of day in fields, such as `X-RateLimit-Reset`. Default: the system's. */
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
  /**
   * Returns the headers for a decision: rate limit fields, and `Retry-After` if it is a denial that waiting cures. There are no rate
   * limit fields if the store failed and nothing was counted.
   */
  headers(decision: Decision, partitionKey?: PartitionKey): Record<string, string>
  /** Returns the whole response to a denied hit. */
  denial(decision: Decision, partitionKey?: PartitionKey): Denial
}

/** Styles that need no import. */
const NAMES: readonly unknown[] = ['draft-11', 'draft-10'] satisfies HeaderStyle[]

export const DEFAULT_STYLE: HeaderStyle = 'draft-11'

const OPTIONS = ['rules', 'headers', 'clock'] as const

const PROBLEM_TYPES = 'https://iana.org/assignments/http-problem-types'

/** Makes a responder: it turns decisions of one limiter into status, headers and body. Make it once for each limiter. */
export function createResponder(options: ResponderOptions): Responder {
  checkOptions('createResponder', options, OPTIONS)
  const { rules, headers = DEFAULT_STYLE, clock = Date } = options
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

/** Only `createResponder` encodes partition keys. The middleware sends none, so its bundles need no base64. */
function partitionOf(key: PartitionKey | undefined): string {
  return key === undefined ? '' : `;pk=${byteSequence(key)}`
}

/** A responder whose options have been checked. It takes the parameter with the partition key as text. */
export class RuleResponder {
  readonly #table: RuleTable
  readonly #styles: readonly AddFields[]
  readonly #nowMs: () => number

  constructor(rules: readonly Rule[], styles: readonly AnyStyle[], clock: Pick<Clock, 'now'>) {
    const table = new RuleTable(rules)
    this.#table = table
    this.#styles = styles.map((style) => (typeof style === 'string' ? namedMembers : style)(table))
    this.#nowMs = () => clock.now()
  }

  /** Returns the headers of a decision. A style may change type and title of `problem`, the body of a denial. */
  headers(decision: Decision, partition = '', problem?: Problem): Record<string, string> {
    const headers: Record<string, string> = {}
    // If nothing was counted, the units left are not known.
    if (!isUncounted(decision)) {
      for (const add of this.#styles) add(headers, decision, this.#nowMs, partition, problem)
    }
    if (!decision.allowed && decision.retryable) headers['Retry-After'] = `${seconds(decision.retryAfterMs)}`
    return headers
  }

  denial(decision: Decision, partition = ''): Denial {
    const isWithoutStore = isUncounted(decision)
    const status = isWithoutStore ? 503 : 429
    const violated = isWithoutStore ? [] : decision.rules.filter(({ retryAfterMs }) => retryAfterMs > 0)
    const problem = {
      type: `${PROBLEM_TYPES}#${isWithoutStore ? 'temporary-reduced-capacity' : 'quota-exceeded'}`,
      title: isWithoutStore ? 'Temporary Reduced Capacity' : 'Quota Exceeded',
      status,
      detail: whenToRetry(decision),
      'violated-policies': violated.map(({ name }) => this.#table.of(name).label),
    }
    const headers = this.headers(decision, partition, problem)
    headers['Content-Type'] = 'application/problem+json'
    return { status, headers, body: JSON.stringify(problem) }
  }
}

/** True if the store failed and the fallback allows or denies every hit. Then the numbers of the decision describe no client. */
export function isUncounted({ failure }: Decision): boolean {
  return failure !== undefined && failure.then !== 'local'
}

function whenToRetry({ retryable, retryAfterMs }: Decision): string {
  return retryable ? `Try again in ${seconds(retryAfterMs)} s.` : 'Waiting does not help.'
}

/** Returns the styles. Throws ERR_OPTION unless `headers` is a style, compatible styles, or false. */
export function checkStyles(headers: ResponderOptions['headers']): readonly AnyStyle[] {
  const styles = headers === false ? [] : ([headers].flat() as readonly AnyStyle[])
  for (const style of styles) {
    if (typeof style === 'function' || NAMES.includes(style)) continue
    throw mustBe('ERR_OPTION', 'headers', "'draft-11', 'draft-10', a style of sluice/http or false", style)
  }
  const drafts = new Set(styles.flatMap((style) => (typeof style === 'string' ? style : (style.draft ?? []))))
  if (drafts.size > 1) {
    throw new SluiceError('ERR_OPTION', `headers takes one draft, got ${[...drafts].join(', ')}`)
  }
  return styles
}
