// The facts about a rule, written once beside its algorithm. Notation, policy schemas, forms, documents, tests and the
// arguments of the Lua translation are derived from them.
// Invariant: nothing that a limiter runs with imports facts, so their texts weigh only on programs that show them.

import type { Rule, RuleOptions } from './rule.ts'
import type { ChoiceKind, OptionKind, OptionKinds } from './rule-options.ts'
import { MAX, MAX_DURATION_MS } from './whole-numbers.ts'

/** The smallest and the largest value of an option, by kind. */
export const OPTION_BOUNDS = {
  units: { least: 1, most: MAX },
  duration: { least: 1, most: MAX_DURATION_MS },
} as const

interface SharedOptionFacts {
  readonly name: string
  /** Names the option in a form. */
  readonly label: string
  /** Says in a sentence or two what the option does. */
  readonly help: string
  /** True for an option that few need: a form shows it on request. */
  readonly isRare: boolean
  /** The reason not to use the option any more. */
  readonly deprecated: string | undefined
}

export interface UnitsFacts extends SharedOptionFacts {
  readonly kind: 'units'
  /** The option that this one equals by default. Without it, the option is required. */
  readonly sameAs: string | undefined
  /** A number that a form starts with. */
  readonly start: number
}

export interface DurationFacts extends SharedOptionFacts {
  readonly kind: 'duration'
  /** A duration that a form starts with. */
  readonly start: string
}

export interface ChoiceFacts extends SharedOptionFacts {
  readonly kind: 'choice'
  /** The values, each with the words for it in a form. */
  readonly choices: readonly (readonly [value: string, label: string])[]
  readonly default: string
}

export interface FlagFacts extends SharedOptionFacts {
  readonly kind: 'flag'
  readonly default: false
}

export type OptionFacts = UnitsFacts | DurationFacts | ChoiceFacts | FlagFacts

/** The options that say how many units pass in which time in the long run: the parts of a notation. */
export interface RateOptions<N extends string = string> {
  readonly units: N
  readonly every: N
  /** The option that says how many units may come at once, for a rule that has one. */
  readonly burst?: N
}

/** A translation of a definition: one Lua file, for one or several algorithms of which each has states of its own. */
export interface Translation {
  /** The algorithms, as `rule.algorithm` names them. */
  readonly algorithms: readonly string[]
  /** The file, from the folder of the algorithms on. */
  readonly file: string
  /** The Lua function in it that makes the definition. */
  readonly define: string
  /** The Lua function in it that answers the most frequent hits in one go, if there is one. */
  readonly shortWay?: string
  /** Names of the rule's parameters, in the order in which Redis gets them. */
  readonly parameters: readonly string[]
}

/** Everything that there is to know of a rule, besides what it does to a state. */
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
  /** The most that can pass in one window, wherever it starts. Markdown. */
  readonly worstCase: string
  readonly options: readonly OptionFacts[]
  readonly rate: RateOptions
  /** Says a rule with these options in a few words. */
  readonly inWords: (options: O) => string
  /** The options that documents show. */
  readonly example: RuleOptions
  /** Options of every form of the rule, by the form's name, for the tests of stores. Numbers do not divide each other. */
  readonly forms: Readonly<Record<string, RuleOptions>>
  readonly translation: Translation
}

/** The words for an option. Kind, choices and default come from the maker's own table. */
type OptionText<K extends OptionKind> = {
  readonly label: string
  readonly help: string
  readonly isRare?: boolean
  readonly deprecated?: string
} & (K extends ChoiceKind<infer C> ? { readonly choices: Readonly<Record<C, string>> } : object) &
  (K extends { readonly kind: 'units' } ? { readonly start?: number } : object)

/** A function that makes a rule, and the options that it takes. */
type Maker = (options: never) => Rule
type OptionsOf<M extends Maker> = Parameters<M>[0]

/** Facts as they are written: with the words for the options, and with the types of the maker. */
export interface RuleDescription<A extends string, M extends Maker, K extends OptionKinds>
  extends Omit<RuleFacts<A, OptionsOf<M>>, 'make' | 'options' | 'rate' | 'example' | 'forms'> {
  readonly make: M
  /** The table of options that the maker checks with. */
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
      return { kind: 'choice', ...shared, choices: option.choices.map((c) => [c, choices[c]]), default: option.choices[0] }
    }
    case 'flag':
      return { kind: 'flag', ...shared, default: false }
  }
}
