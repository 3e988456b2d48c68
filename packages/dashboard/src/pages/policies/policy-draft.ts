// A policy while it is edited, and its conversion from and to the stored form.
// Invariant: a policy that is opened and not edited converts back to the same policy.

import { parseRule, type Rule, SluiceError } from 'sluice'
import { readNotation } from 'sluice/rules'
import type { OptionValue, PolicyMode, PolicyRule, PolicySpec } from '../../api/answers.ts'
import { ALGORITHMS, isAlgorithm } from '../../rules/algorithm-forms.ts'
import { makeRule, newRule, type RuleDraft, readRule } from '../../rules/rule-form.ts'

/** One rule of a policy: in notation, or as options with an optional name. */
export type RuleEntry =
  | { readonly kind: 'notation'; readonly text: string }
  | { readonly kind: 'options'; readonly name: string; readonly draft: RuleDraft; readonly per?: Per }

/** Names of keys that are counted by, as the policy writes them. Undefined: by the scope. */
export type Per = NonNullable<PolicySpec['per']>

/** A condition on an attribute. */
export interface Condition {
  readonly name: string
  readonly pattern: string
}

export interface PolicyDraft {
  readonly name: string
  readonly client: string
  readonly route: string
  readonly where: readonly Condition[]
  readonly applies: 'most-specific' | 'always'
  readonly mode: PolicyMode
  readonly scope: 'route' | 'policy'
  readonly per: Per | undefined
  /** The end in RFC 3339; empty if there is none. */
  readonly expiresAt: string
  readonly reason: string
  readonly showsReason: boolean
  readonly rules: readonly RuleEntry[]
}

export const NEW_POLICY: PolicyDraft = {
  name: '',
  client: '*',
  route: '',
  where: [],
  applies: 'most-specific',
  mode: 'enforce',
  scope: 'route',
  per: undefined,
  expiresAt: '',
  reason: '',
  showsReason: false,
  rules: [newEntry()],
}

export function newEntry(): RuleEntry {
  return { kind: 'options', name: '', draft: newRule('token-bucket', { capacity: '20', refill: '10', every: '1s' }) }
}

export function draftOf(policy: PolicySpec): PolicyDraft {
  const { name, client, route, where = {}, applies = 'most-specific', mode, scope, per, rules = [] } = policy
  return {
    ...{ name, client, route, applies, mode, scope, per },
    where: Object.entries(where).map(([attribute, pattern]) => ({ name: attribute, pattern })),
    expiresAt: policy.expires_at ?? '',
    reason: policy.reason ?? '',
    showsReason: policy.show_reason ?? false,
    rules: rules.map(entryOf),
  }
}

/** Leaves out fields that have their defaults. A policy that only denies has no rules. */
export function specOf(draft: PolicyDraft): PolicySpec {
  const { name, client, route, where, applies, mode, scope, per, expiresAt, reason, showsReason, rules } = draft
  return {
    ...{ name, client, route, mode, scope },
    ...(where.length > 0 && { where: Object.fromEntries(where.map((condition) => [condition.name, condition.pattern])) }),
    ...(applies === 'always' && { applies }),
    ...(per !== undefined && { per }),
    ...(expiresAt !== '' && { expires_at: expiresAt }),
    ...(reason !== '' && { reason }),
    ...(showsReason && { show_reason: true }),
    ...(rules.length > 0 && { rules: rules.map(ruleOf) }),
  }
}

/** Reads names that are separated by commas. Without a name, there is one counter for everybody. */
export function readPer(text: string): Per {
  const names = text.split(',').flatMap((name) => name.trim() || [])
  return names.length === 1 ? names[0] : names
}

export function perText(per: Per): string {
  return [per].flat().join(', ')
}

function entryOf(rule: PolicyRule): RuleEntry {
  if (typeof rule === 'string') return { kind: 'notation', text: rule }
  const { algorithm, name = '', per, ...options } = rule
  if (typeof algorithm !== 'string' || !isAlgorithm(algorithm)) return { kind: 'notation', text: JSON.stringify(rule) }
  const given = Object.fromEntries(
    Object.entries(options).map(([option, value]) => [option, typed((value ?? '') as OptionValue)]),
  )
  const empty = ALGORITHMS[algorithm].options.filter(({ sameAs }) => sameAs !== undefined).map((form) => [form.name, ''])
  const draft = newRule(algorithm, { ...Object.fromEntries(empty), ...given })
  return { kind: 'options', name: String(name), draft, ...(per !== undefined && { per: per as Per }) }
}

function typed(value: OptionValue): string {
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value)
}

function ruleOf(entry: RuleEntry): PolicyRule {
  if (entry.kind === 'notation') return entry.text
  const { algorithm, options } = readRule(entry.draft).spec
  return {
    algorithm,
    ...options,
    ...(entry.name !== '' && { name: entry.name }),
    ...(entry.per !== undefined && { per: entry.per }),
  }
}

/** The rules of one entry, made by the library and named by position as the service does, or the error of the library. */
export interface ReadEntry {
  /** Rules that count. Empty if a rule of the policy has the limit 0, because then nothing is counted. */
  readonly rules: readonly Rule[]
  /** True if a rule of this entry has the limit 0. It denies every request. */
  readonly isClosed: boolean
  readonly problem: string | undefined
  readonly wrong: string | undefined
}

/** The library has no rule of limit 0. Like the service, this makes it with another limit, which finds all other mistakes. */
function readEntry(entry: RuleEntry, place: number): ReadEntry {
  if (entry.kind === 'options') {
    const isClosed = /^0+$/.test(entry.draft.options.limit?.trim() ?? '')
    const draft = isClosed ? { ...entry.draft, options: { ...entry.draft.options, limit: '1' } } : entry.draft
    const { spec, problem, wrong } = readRule(draft)
    if (problem !== undefined) return { rules: [], isClosed: false, problem, wrong }
    return { rules: [makeRule(spec, entry.name || `rule-${place}`)], isClosed, problem: undefined, wrong: undefined }
  }
  try {
    const read = readNotation(entry.text).map(({ limit, burst, text }, within) => {
      const isClosed = limit === 0 && burst === undefined
      const name = `rule-${place + within}`
      return { isClosed, rule: parseRule(isClosed ? text.replace(/\d+/, '1') : text, { name }) as Rule }
    })
    const isClosed = read.some((each) => each.isClosed)
    return { rules: read.map(({ rule }) => rule), isClosed, problem: undefined, wrong: undefined }
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error
    return { rules: [], isClosed: false, problem: error.message, wrong: undefined }
  }
}

export function readEntries(entries: readonly RuleEntry[]): readonly ReadEntry[] {
  let place = 1
  const read = entries.map((entry) => {
    const each = readEntry(entry, place)
    place += Math.max(1, each.rules.length)
    return each
  })
  return read.some(({ isClosed }) => isClosed) ? read.map((each) => ({ ...each, rules: [] })) : read
}
