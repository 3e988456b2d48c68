// Every algorithm of the library's catalogue as a form.

import { type Algorithm, type OptionFacts, type RuleFacts, ruleCatalogue } from 'sluice/rules'
import type { OptionForm } from '../forms/option-form.ts'

export type { Algorithm } from 'sluice/rules'

export interface AlgorithmForm extends Pick<RuleFacts, 'title' | 'call' | 'make' | 'rate'> {
  readonly options: readonly OptionForm[]
}

export const ALGORITHMS = Object.fromEntries(ruleCatalogue.map((facts) => [facts.algorithm, algorithmForm(facts)])) as Readonly<
  Record<Algorithm, AlgorithmForm>
>

export const ALGORITHM_NAMES: readonly Algorithm[] = ruleCatalogue.map(({ algorithm }) => algorithm)

export function isAlgorithm(name: string): name is Algorithm {
  return Object.hasOwn(ALGORITHMS, name)
}

export function algorithmForm({ title, call, make, rate, options }: RuleFacts): AlgorithmForm {
  return { title, call, make, rate, options: options.map(optionForm) }
}

function optionForm(option: OptionFacts): OptionForm {
  const { name, label, help, isRare } = option
  const shared = { name, label, isRare, hint: help }
  switch (option.kind) {
    case 'units': {
      const { start, sameAs } = option
      return { kind: 'units', ...shared, start: String(start), ...(sameAs !== undefined && { sameAs }) }
    }
    case 'duration':
      return { kind: 'duration', ...shared, start: option.start }
    case 'choice': {
      const { choices, default: otherwise } = option
      return {
        kind: 'choice',
        ...shared,
        choices,
        start: otherwise ?? choices[0][0],
        ...(otherwise !== undefined && { otherwise }),
      }
    }
    case 'flag':
      return { kind: 'flag', ...shared, start: 'no', otherwise: 'no' }
    case 'text': {
      const { default: otherwise, sample } = option
      return { kind: 'text', ...shared, start: otherwise, otherwise, sample }
    }
  }
}
