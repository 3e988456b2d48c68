// Tables of a rule's options with their kinds, and the check that every maker runs.
// Invariant: a maker needs only such a table. Labels and help texts are in the rule's facts, which no maker imports.

import { type Duration, durationMs } from './duration.ts'
import { SluiceError, show } from './errors.ts'
import { checkOptions } from './options.ts'
import type { RuleOptions } from './rule.ts'
import { isWhole } from './whole-numbers.ts'

/** A whole number of at least 1. Required, unless `sameAs` names the option that it equals by default. */
export interface UnitsKind {
  readonly kind: 'units'
  readonly sameAs?: string
}

/** Required. */
export interface DurationKind {
  readonly kind: 'duration'
}

/** One of several words. The first is the default, unless the option is required. */
export interface ChoiceKind<C extends string = string> {
  readonly kind: 'choice'
  readonly choices: readonly C[]
  readonly isRequired?: true
}

/** True or false. False is the default. */
export interface FlagKind {
  readonly kind: 'flag'
}

/** A short text. The maker checks it, because it knows its form. */
export interface TextKind {
  readonly kind: 'text'
  /** Omitted if the default depends on other options. */
  readonly default?: string
  /** True if some of the values are whole numbers. */
  readonly takesNumbers?: true
}

/** The longest value of an option of this kind. */
export const LONGEST_TEXT = 64

export type OptionKind = UnitsKind | DurationKind | ChoiceKind | FlagKind | TextKind

export type OptionKinds = Readonly<Record<string, OptionKind>>

/** Type of the table for options of type `O`: each name once, with a kind that fits the type of its values. */
export type KindsOf<O extends RuleOptions> = {
  readonly [N in Exclude<keyof O, keyof RuleOptions>]-?: KindOf<NonNullable<O[N]>>
}

type KindOf<V> = [V] extends [boolean]
  ? FlagKind
  : string extends V
    ? TextKind
    : number extends V
      ? [V] extends [Duration]
        ? UnitsKind | DurationKind
        : TextKind
      : ChoiceKind<V & string>

/** Options after the check: defaults are filled in, and durations are milliseconds. */
export type ReadOptions<K extends OptionKinds> = { readonly [N in keyof K]: ReadValue<K[N]> }

type ReadValue<K extends OptionKind> =
  K extends ChoiceKind<infer C> ? C : K extends FlagKind ? boolean : K extends TextKind ? unknown : number

/** Checks the options of a rule and fills in defaults. Error messages name `maker`. */
export function readOptions<K extends OptionKinds>(maker: string, options: RuleOptions, kinds: K): ReadOptions<K> {
  const names = Object.keys(kinds)
  checkOptions(maker, options, [...names, 'name', 'per'])
  const given = options as Readonly<Record<string, unknown>>
  const read: Record<string, unknown> = {}
  for (const name of names) read[name] = readOption(maker, name, given, kinds[name])
  return read as ReadOptions<K>
}

function readOption(maker: string, name: string, given: Readonly<Record<string, unknown>>, option: OptionKind): unknown {
  let value = given[name]
  let expected: string
  switch (option.kind) {
    case 'duration':
      return durationMs(value as Duration, name)
    case 'units':
      if (value === undefined && option.sameAs !== undefined) value = given[option.sameAs]
      if (isWhole(value, 1)) return value
      expected = 'a whole number of at least 1'
      break
    case 'choice':
      if (value === undefined && !option.isRequired) return option.choices[0]
      if (option.choices.includes(value as string)) return value
      expected = option.choices.map((choice) => `'${choice}'`).join(' or ')
      break
    case 'flag':
      if (value === undefined) return false
      if (typeof value === 'boolean') return value
      expected = 'true or false'
      break
    default:
      return value === undefined ? option.default : value
  }
  throw wrongOption(maker, name, value, expected)
}

/** Makes the error about an option with a wrong value. */
export function wrongOption(maker: string, option: string, value: unknown, expected: string): SluiceError {
  return new SluiceError('ERR_RULE', `${maker} needs ${option} to be ${expected}, got ${show(value)}`, { option, value })
}
