// The six algorithms as forms: their options in the words of the library, and the way from what was typed to a rule.
// What must stay true: a draft becomes a rule by the library's own function, so a form refuses what the library refuses, in its words.

import { fixedWindow, gcra, leakyBucket, type Rule, SluiceError, slidingLog, slidingWindow, tokenBucket } from 'sluice'
import type { OptionValue } from '../api/answers.ts'
import { type Draft, type OptionForm, optionValues, startDraft } from '../forms/option-form.ts'

export type Algorithm = 'fixed-window' | 'sliding-log' | 'sliding-window' | 'token-bucket' | 'gcra' | 'leaky-bucket'

export interface AlgorithmForm {
  readonly title: string
  /** The library's function. */
  readonly call: string
  readonly make: (options: never) => Rule
  readonly options: readonly OptionForm[]
  /** The options that say how many units pass in which time in the long run. */
  readonly rate: readonly [units: string, every: string]
}

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

const units = (name: string, label: string, start = '10'): OptionForm => ({ name, label, kind: 'units', start })
const duration = (name: string, label: string): OptionForm => ({ name, label, kind: 'duration', start: '10s' })

const ANCHOR: OptionForm = {
  name: 'anchor',
  label: 'Windows from',
  kind: 'choice',
  choices: [
    ['first-hit', 'first hit'],
    ['clock', 'clock'],
  ],
  start: 'first-hit',
  otherwise: 'first-hit',
}

const flag = (name: string, label: string): OptionForm => ({
  name,
  label,
  kind: 'flag',
  start: 'no',
  otherwise: 'no',
  isRare: true,
})

export const ALGORITHMS: Readonly<Record<Algorithm, AlgorithmForm>> = {
  'fixed-window': {
    title: 'Fixed window',
    call: 'fixedWindow',
    make: fixedWindow,
    options: [
      units('limit', 'Limit'),
      duration('window', 'Window'),
      ANCHOR,
      flag('countDenied', 'Denied hits count too'),
      flag('elastic', 'Every hit restarts the window'),
    ],
    rate: ['limit', 'window'],
  },
  'sliding-log': {
    title: 'Sliding log',
    call: 'slidingLog',
    make: slidingLog,
    options: [units('limit', 'Limit'), duration('window', 'Window')],
    rate: ['limit', 'window'],
  },
  'sliding-window': {
    title: 'Sliding window',
    call: 'slidingWindow',
    make: slidingWindow,
    options: [
      units('limit', 'Limit'),
      duration('window', 'Window'),
      ANCHOR,
      {
        name: 'round',
        label: 'Share of the last window',
        kind: 'choice',
        choices: [
          ['down', 'whole units, rounded down'],
          ['none', 'with its fraction'],
        ],
        start: 'down',
        otherwise: 'down',
        isRare: true,
      },
    ],
    rate: ['limit', 'window'],
  },
  'token-bucket': {
    title: 'Token bucket',
    call: 'tokenBucket',
    make: tokenBucket,
    options: [
      units('capacity', 'Capacity'),
      units('refill', 'Refill'),
      duration('every', 'Every'),
      {
        name: 'style',
        label: 'Tokens come back',
        kind: 'choice',
        choices: [
          ['smooth', 'a little every millisecond'],
          ['stepped', 'all at once'],
        ],
        start: 'smooth',
        otherwise: 'smooth',
        isRare: true,
      },
    ],
    rate: ['refill', 'every'],
  },
  gcra: {
    title: 'GCRA',
    call: 'gcra',
    make: gcra,
    options: [units('limit', 'Limit'), duration('period', 'Period'), { ...units('burst', 'Burst', '1'), sameAs: 'limit' }],
    rate: ['limit', 'period'],
  },
  'leaky-bucket': {
    title: 'Leaky bucket',
    call: 'leakyBucket',
    make: leakyBucket,
    options: [units('capacity', 'Capacity'), units('leak', 'Leak'), duration('every', 'Every')],
    rate: ['leak', 'every'],
  },
}

export const ALGORITHM_NAMES = Object.keys(ALGORITHMS) as Algorithm[]

export function isAlgorithm(name: string): name is Algorithm {
  return Object.hasOwn(ALGORITHMS, name)
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

/** The same rate under another algorithm; a bucket's capacity becomes the rate's units. */
export function withAlgorithm({ algorithm: from, options }: RuleDraft, to: Algorithm): RuleDraft {
  const [fromUnits, fromEvery] = ALGORITHMS[from].rate
  const [toUnits, toEvery] = ALGORITHMS[to].rate
  const carried: Record<string, string> = { [toUnits]: options[fromUnits], [toEvery]: options[fromEvery] }
  const forms = ALGORITHMS[to].options
  if (forms.some(({ name }) => name === 'capacity')) carried.capacity = options.capacity ?? options[fromUnits]
  if (forms.some(({ name }) => name === 'anchor') && options.anchor !== undefined) carried.anchor = options.anchor
  return newRule(to, carried)
}
