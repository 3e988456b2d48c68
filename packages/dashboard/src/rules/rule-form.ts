// A rule as it is being typed, and the way from there to a rule.
// Invariant: a draft becomes a rule by the library's own function, so a form refuses what the library refuses, in its words.

import { type Rule, SluiceError } from 'sluice'
import type { OptionValue } from '../api/answers.ts'
import { type Draft, optionValues, startDraft } from '../forms/option-form.ts'
import { ALGORITHMS, type Algorithm } from './algorithm-forms.ts'

/** A rule as it is being typed. */
export interface RuleDraft {
  readonly algorithm: Algorithm
  readonly options: Draft
}

/** A rule as policies write it: its algorithm, and its options without those that say nothing new. */
export interface RuleSpec {
  readonly algorithm: Algorithm
  readonly options: Readonly<Record<string, OptionValue>>
}

export interface ReadRule {
  readonly spec: RuleSpec
  /** Undefined if the library refuses it; then `problem` says why. */
  readonly rule: Rule | undefined
  readonly problem: string | undefined
  /** The option that the problem speaks of, if it names one. */
  readonly wrong: string | undefined
}

export function newRule(algorithm: Algorithm, options: Draft = {}): RuleDraft {
  return { algorithm, options: { ...startDraft(ALGORITHMS[algorithm].options), ...options } }
}

export function readRule({ algorithm, options }: RuleDraft): ReadRule {
  const { options: forms } = ALGORITHMS[algorithm]
  const spec = { algorithm, options: optionValues(forms, options) }
  try {
    return { spec, rule: makeRule(spec), problem: undefined, wrong: undefined }
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error
    const { message, option } = error
    return { spec, rule: undefined, problem: message, wrong: option }
  }
}

/** Throws what the library throws. */
export function makeRule({ algorithm, options }: RuleSpec, name?: string): Rule {
  return ALGORITHMS[algorithm].make((name === undefined ? options : { ...options, name }) as never)
}

/**
 * The same rate under another algorithm. Options of the same name and kind stay; a capacity that only the other has becomes the rate's
 * units. A unit of the calendar is no duration, so it does not stay.
 */
export function withAlgorithm({ algorithm: from, options }: RuleDraft, to: Algorithm): RuleDraft {
  const { rate: fromRate, options: fromForms } = ALGORITHMS[from]
  const { rate: toRate, options: forms } = ALGORITHMS[to]
  const carried: Record<string, string> = { [toRate.units]: options[fromRate.units] }
  if (fromRate.isCalendar === toRate.isCalendar) carried[toRate.every] = options[fromRate.every]
  for (const { name, kind, sameAs } of forms) {
    if (carried[name] !== undefined) continue
    const isSame = fromForms.some((form) => form.name === name && form.kind === kind)
    if (isSame && options[name] !== undefined) carried[name] = options[name]
    else if (name === toRate.burst && sameAs === undefined) carried[name] = options[fromRate.units]
  }
  return newRule(to, carried)
}
