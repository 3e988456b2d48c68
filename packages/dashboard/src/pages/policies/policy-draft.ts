// A policy while it is edited, and its conversion from and to the stored form.
// Invariant: a policy that is opened and not edited converts back to the same policy.

import { parseRule, type Rule, SluiceError } from 'sluice'
import type { OptionValue, PolicyMode, PolicyRule, PolicySpec } from '../../api/answers.ts'
import { ALGORITHMS, isAlgorithm } from '../../rules/algorithm-forms.ts'
import { makeRule, newRule, type RuleDraft, readRule } from '../../rules/rule-form.ts'

/** One rule of a policy: in notation, or as options with an optional name. */
export type RuleEntry =
  | { readonly kind: 'notation'; readonly text: string }
  | { readonly kind: 'options'; readonly name: string; readonly draft: RuleDraft }

export interface PolicyDraft {
  readonly name: string
  readonly client: string
  readonly route: string
  readonly mode: PolicyMode
  readonly scope: 'route' | 'policy'
  readonly rules: readonly RuleEntry[]
}

export const NEW_POLICY: PolicyDraft = {
  name: '',
  client: '*',
  route: '',
  mode: 'enforce',
  scope: 'route',
  rules: [newEntry()],
}

export function newEntry(): RuleEntry {
  return { kind: 'options', name: '', draft: newRule('token-bucket', { capacity: '20', refill: '10', every: '1s' }) }
}

export function draftOf({ rules, ...policy }: PolicySpec): PolicyDraft {
  const { name, client, route, mode, scope } = policy
  return { name, client, route, mode, scope, rules: rules.map(entryOf) }
}

export function specOf({ rules, ...policy }: PolicyDraft): PolicySpec {
  return { ...policy, rules: rules.map(ruleOf) }
}

function entryOf(rule: PolicyRule): RuleEntry {
  if (typeof rule === 'string') return { kind: 'notation', text: rule }
  const { algorithm, name = '', ...options } = rule
  if (typeof algorithm !== 'string' || !isAlgorithm(algorithm)) return { kind: 'notation', text: JSON.stringify(rule) }
  const given = Object.fromEntries(Object.entries(options).map(([option, value]) => [option, typed(value ?? '')]))
  const empty = ALGORITHMS[algorithm].options.filter(({ sameAs }) => sameAs !== undefined).map((form) => [form.name, ''])
  return { kind: 'options', name: String(name), draft: newRule(algorithm, { ...Object.fromEntries(empty), ...given }) }
}

function typed(value: OptionValue): string {
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value)
}

function ruleOf(entry: RuleEntry): PolicyRule {
  if (entry.kind === 'notation') return entry.text
  const { algorithm, options } = readRule(entry.draft).spec
  return { algorithm, ...options, ...(entry.name === '' ? {} : { name: entry.name }) }
}

/** The rules of one entry, made by the library and named by position as the service does, or the error of the library. */
export interface ReadEntry {
  readonly rules: readonly Rule[]
  readonly problem: string | undefined
  readonly wrong: string | undefined
}

function readEntry(entry: RuleEntry, place: number): ReadEntry {
  if (entry.kind === 'options') {
    const { spec, problem, wrong } = readRule(entry.draft)
    if (problem !== undefined) return { rules: [], problem, wrong }
    return { rules: [makeRule(spec, entry.name || `rule-${place}`)], problem: undefined, wrong: undefined }
  }
  try {
    const named = (within: number) => `rule-${place + within}`
    return { rules: [parseRule(entry.text, { name: named })].flat(), problem: undefined, wrong: undefined }
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error
    return { rules: [], problem: error.message, wrong: undefined }
  }
}

export function readEntries(entries: readonly RuleEntry[]): readonly ReadEntry[] {
  let place = 1
  return entries.map((entry) => {
    const read = readEntry(entry, place)
    place += Math.max(1, read.rules.length)
    return read
  })
}
