// The facts about a rule, written once beside its algorithm. Notation, policy schemas, forms, documents, tests and the
// arguments of the translations are derived from them.
// Invariant: limiters, rules and stores do not import facts. A bundle contains these texts only if the application imports them.

import type { Rule, RuleOptions } from './rule.ts'
import { type ChoiceKind, LONGEST_TEXT, type OptionKind, type OptionKinds } from './rule-options.ts'
import { MAX, MAX_DURATION_MS } from './whole-numbers.ts'

/** The smallest and the largest value of an option, by kind; for a text, its length in characters. */
export const OPTION_BOUNDS = {
  units: { least: 1, most: MAX },
  duration: { least: 1, most: MAX_DURATION_MS },
  text: { least: 1, most: LONGEST_TEXT },
} as const

interface SharedOptionFacts {
  readonly name: string
  /** Name of the option in a form. */
  readonly label: string
  /** One or two sentences about the option. */
  readonly help: string
  /** True for an option that is rarely needed: a form shows it on request. */
  readonly isRare: boolean
  /** The reason why the option should not be used any more. */
  readonly deprecated: string | undefined
}

export interface UnitsFacts extends SharedOptionFacts {
  readonly kind: 'units'
  /** The option that this one equals by default. Without it, the option is required. */
  readonly sameAs: string | undefined
  /** First value of a form's field. */
  readonly start: number
}

export interface DurationFacts extends SharedOptionFacts {
  readonly kind: 'duration'
  /** First value of a form's field. */
  readonly start: string
}

export interface ChoiceFacts extends SharedOptionFacts {
  readonly kind: 'choice'
  /** The values, each with its label in a form. */
  readonly choices: readonly (readonly [value: string, label: string])[]
  /** Undefined if the option is required. */
  readonly default: string | undefined
}

export interface FlagFacts extends SharedOptionFacts {
  readonly kind: 'flag'
  readonly default: false
}

export interface TextFacts extends SharedOptionFacts {
  readonly kind: 'text'
  /** An empty text stands for a default that depends on other options. */
  readonly default: string
  /** True if some of the values are whole numbers. */
  readonly takesNumbers: boolean
  /** A value that documents and forms show. */
  readonly sample: string
}

export type OptionFacts = UnitsFacts | DurationFacts | ChoiceFacts | FlagFacts | TextFacts

/** Names of the options that a notation sets: units and duration, and perhaps the burst. */
export interface RateOptions<N extends string = string> {
  readonly units: N
  readonly every: N
  /** True if `every` takes a unit of the calendar instead of a duration. The values are those of the notation after `calendar`. */
  readonly isCalendar?: true
  /** Name of the option for the burst: the units that may come at once. */
  readonly burst?: N
}

/** The translations of a definition: one Lua file for one or several algorithms, and perhaps one of PL/pgSQL. */
export interface Translation {
  /** The algorithms, as `rule.algorithm` names them. */
  readonly algorithms: readonly string[]
  /** Path of the file in the folder of the algorithms. */
  readonly file: string
  /** Name of the Lua function that makes the definition. */
  readonly define: string
  /** Name of the Lua function of the short way, if there is one. It takes the time, the stored value, the cost and the parameters. */
  readonly shortWay?: string
  /** Path of the PL/pgSQL file in the folder of the algorithms. Without one, the rule runs in transactions on Postgres. */
  readonly plpgsql?: string
  /** Names of the rule's parameters, in the order in which Redis and Postgres get them. */
  readonly parameters: readonly string[]
}

/** The facts about one rule: its texts, options, examples and translation. Its definition is not one of them. */
export interface RuleFacts<A extends string = string, O extends RuleOptions = never> {
  /** The name that people write in notation, policies and addresses. */
  readonly algorithm: A
  /** The name of the function that makes the rule. */
  readonly call: string
  readonly make: (options: O) => Rule
  readonly title: string
  /** Completes the sentence 'it is …'. */
  readonly summary: string
  /** Completes the sentence 'you want …'. */
  readonly purpose: string
  /** The most units that can pass in any one window, as Markdown. */
  readonly worstCase: string
  readonly options: readonly OptionFacts[]
  readonly rate: RateOptions
  /** Describes a rule with these options in a few words. */
  readonly inWords: (options: O) => string
  /** The options that documents show. */
  readonly example: RuleOptions
  /** Options of every form of the rule, by the form's name, for the tests of stores. In a form, no number divides another. */
  readonly forms: Readonly<Record<string, RuleOptions>>
  readonly translation: Translation
}

/** The texts about an option. Its kind, choices and default come from the maker's own table. */
type OptionText<K extends OptionKind> = {
  readonly label: string
  readonly help: string
  readonly isRare?: boolean
  readonly deprecated?: string
} & (K extends ChoiceKind<infer C> ? { readonly choices: Readonly<Record<C, string>> } : object) &
  (K extends { readonly kind: 'units' } ? { readonly start?: number } : object) &
  (K extends { readonly kind: 'text' } ? { readonly sample: string } : object)

/** A function that makes a rule. */
type Maker = (options: never) => Rule
type OptionsOf<M extends Maker> = Parameters<M>[0]

/** The argument of `describeRule`. Its types come from the maker, and `options` holds only texts. */
export interface RuleDescription<A extends string, M extends Maker, K extends OptionKinds>
  extends Omit<RuleFacts<A, OptionsOf<M>>, 'make' | 'options' | 'rate' | 'example' | 'forms'> {
  readonly make: M
  /** The table with which the maker checks its options. */
  readonly kinds: K
  readonly options: { readonly [N in keyof K]: OptionText<K[N]> }
  readonly rate: RateOptions<keyof K & string>
  readonly example: OptionsOf<M>
  readonly forms: { readonly plain: OptionsOf<M> } & Readonly<Record<string, OptionsOf<M>>>
}

const START_UNITS = 10
const START_DURATION = '10s'

export function describeRule<const A extends string, M extends Maker, K extends OptionKinds>(
  description: RuleDescription<A, M, K>,
): RuleFacts<A, OptionsOf<M>> {
  const { kinds, options, ...facts } = description
  return {
    ...facts,
    options: Object.entries(kinds).map(([name, kind]) => optionFacts(name, kind, options[name] as OptionText<OptionKind>)),
  }
}

function optionFacts(name: string, option: OptionKind, text: OptionText<OptionKind>): OptionFacts {
  const { label, help, isRare = false, deprecated } = text
  const shared = { name, label, help, isRare, deprecated }
  switch (option.kind) {
    case 'units': {
      const { start = START_UNITS } = text as OptionText<typeof option>
      return { kind: 'units', ...shared, sameAs: option.sameAs, start }
    }
    case 'duration':
      return { kind: 'duration', ...shared, start: START_DURATION }
    case 'choice': {
      const { choices } = text as OptionText<typeof option>
      const otherwise = option.isRequired ? undefined : option.choices[0]
      return { kind: 'choice', ...shared, choices: option.choices.map((c) => [c, choices[c]]), default: otherwise }
    }
    case 'flag':
      return { kind: 'flag', ...shared, default: false }
    case 'text': {
      const { sample } = text as OptionText<typeof option>
      return { kind: 'text', ...shared, default: option.default ?? '', takesNumbers: option.takesNumbers ?? false, sample }
    }
  }
}
