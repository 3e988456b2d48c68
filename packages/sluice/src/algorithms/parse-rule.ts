// Rules in the notation people know: '100/minute', '10 per 2 hours', '5/second; 100/minute'.

import { SluiceError, show } from '../core/errors.ts'
import { checkOptions, nearest } from '../core/options.ts'
import type { Rule } from '../core/rule.ts'
import { fixedWindow } from './fixed-window/fixed-window.ts'
import { gcra } from './gcra/gcra.ts'
import { leakyBucket } from './leaky-bucket/leaky-bucket.ts'
import { slidingLog } from './sliding-log/sliding-log.ts'
import { slidingWindow } from './sliding-window/sliding-window.ts'
import { tokenBucket } from './token-bucket/token-bucket.ts'

/** What a notation says: so many per so long, of which a burst may come at once. */
interface Reading {
  readonly limit: number
  readonly windowMs: number
  readonly burst: number | undefined
  /** The rule's name, if it is not to be named after its numbers. */
  readonly named: { readonly name?: string }
}

export interface NotationOptions {
  /** What the rule is called; for several rules, what each is called, by its place from 0 on. Default: after their numbers. */
  readonly name?: string | ((index: number) => string)
}

const OPTIONS = ['name'] as const

const ALGORITHMS: Readonly<Record<string, (reading: Reading) => PlainRule>> = {
  'fixed-window': ({ limit, windowMs, named }) => fixedWindow({ limit, window: windowMs, ...named }),
  'sliding-log': ({ limit, windowMs, named }) => slidingLog({ limit, window: windowMs, ...named }),
  'sliding-window': ({ limit, windowMs, named }) => slidingWindow({ limit, window: windowMs, ...named }),
  'token-bucket': ({ limit, windowMs, burst = limit, named }) =>
    tokenBucket({ capacity: burst, refill: limit, every: windowMs, ...named }),
  gcra: ({ limit, windowMs, burst = limit, named }) => gcra({ limit, period: windowMs, burst, ...named }),
  'leaky-bucket': ({ limit, windowMs, burst = limit, named }) =>
    leakyBucket({ capacity: burst, leak: limit, every: windowMs, ...named }),
}

const BURSTING: readonly string[] = ['token-bucket', 'gcra', 'leaky-bucket']

const UNIT_MS: Readonly<Record<string, number>> = {
  ...units(['ms', 'millisecond'], 1),
  ...units(['s', 'sec', 'second'], 1000),
  ...units(['m', 'min', 'minute'], 60_000),
  ...units(['h', 'hr', 'hour'], 3_600_000),
  ...units(['d', 'day'], 86_400_000),
  ...units(['w', 'week'], 7 * 86_400_000),
  // As other libraries count them: thirty days, and twelve such months.
  ...units(['month'], 30 * 86_400_000),
  ...units(['year'], 360 * 86_400_000),
}

/** algorithm? limit ('/' or 'per') count? unit ('burst' number)? with one space where there were any, so that it is read in one go. */
const SHAPE = /^(?:([a-z][a-z-]*) )?(\d+)(?: ?\/ ?| per )(?:(\d+) ?)?([a-z]+)(?: burst (\d+))?$/

/** A rule that counts by the key that a caller passes. */
type PlainRule = Rule<undefined>

type Several = `${string}${';' | ',' | '|'}${string}`

/**
 * Reads a rule in notation, or a list of rules where `;` `,` or `|` stands between several.
 * A fixed window unless the notation begins with another algorithm: `'sliding-log 100/minute'`, `'token-bucket 10/second burst 20'`.
 */
export function parseRule<T extends string>(
  notation: T,
  options?: NotationOptions,
): string extends T ? PlainRule | readonly PlainRule[] : T extends Several ? readonly PlainRule[] : PlainRule
export function parseRule(notation: string, options: NotationOptions = {}): PlainRule | readonly PlainRule[] {
  checkOptions('parseRule', options, OPTIONS)
  const { name } = options
  if (typeof notation !== 'string' || notation.length > 1000) {
    throw new SluiceError('ERR_NOTATION', `a rule in notation is a string of up to 1,000 characters, got ${show(notation)}`)
  }
  const parts = notation.split(/[;,|]/)
  if (parts.length > 1 && typeof name === 'string') {
    throw new SluiceError('ERR_OPTION', `parseRule needs name to be a function where there are several rules, got ${show(name)}`)
  }
  const rules = parts.map((part, i) => parseOne(part.trim(), typeof name === 'function' ? name(i) : name))
  return rules.length === 1 ? rules[0] : rules
}

function parseOne(notation: string, name: string | undefined): PlainRule {
  const parts = SHAPE.exec(notation.toLowerCase().replace(/\s+/g, ' '))
  if (parts === null) {
    throw new SluiceError('ERR_NOTATION', `a rule in notation is such as '100/minute' or '10 per 2 hours', got ${show(notation)}`)
  }
  const [, algorithm = 'fixed-window', limit, count = '1', unit, burst] = parts
  const make = known(ALGORITHMS, algorithm, 'algorithm', notation)
  const unitMs = known(UNIT_MS, unit, 'unit', notation)
  if (burst !== undefined && !BURSTING.includes(algorithm)) {
    throw new SluiceError('ERR_NOTATION', `a ${algorithm} has no burst (${BURSTING.join(', ')} have), in ${show(notation)}`)
  }
  return make({
    limit: Number(limit),
    windowMs: Number(count) * unitMs,
    burst: burst === undefined ? undefined : Number(burst),
    named: name === undefined ? {} : { name },
  })
}

function known<T>(table: Readonly<Record<string, T>>, name: string, what: string, notation: string): T {
  if (Object.hasOwn(table, name)) return table[name]
  const near = nearest(name, Object.keys(table))
  const hint = near === undefined ? `there is ${Object.keys(table).join(', ')}` : `did you mean ${near}?`
  throw new SluiceError('ERR_NOTATION', `no ${what} is called ${show(name)}, in ${show(notation)}: ${hint}`)
}

function units(names: readonly string[], ms: number): Record<string, number> {
  return Object.fromEntries(
    names.flatMap((name) => [[name, ms], ...(name.length > 1 && name !== 'ms' ? [[`${name}s`, ms]] : [])]),
  )
}
