// Makes rules from notation, with the makers of the catalogue.

import { SluiceError, show } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import type { Rule } from '../core/rule.ts'
import { findRuleFacts, ruleCatalogue } from './catalogue.ts'
import { type NotationParts, readNotation, unknownWord } from './notation.ts'

export interface NotationOptions {
  /**
   * Name of the rule; for several rules, a function that returns the name of a rule by its index. Default: the algorithm with its
   * parameters.
   */
  readonly name?: string | ((index: number) => string)
}

const OPTIONS = ['name'] as const

/** A rule that counts by the key that a caller passes. */
type PlainRule = Rule<undefined>

type Several = `${string}${';' | ',' | '|'}${string}`

/**
 * Reads a rule in notation, or a list of rules separated by `;` `,` or `|`.
 * The rule is a fixed window, unless the notation begins with another algorithm: `'sliding-log 100/minute'`,
 * `'token-bucket 10/second burst 20'`. `'10000/calendar month'` is a calendar window in UTC. `'10000/month'` is thirty days.
 */
export function parseRule<T extends string>(
  notation: T,
  options?: NotationOptions,
): string extends T ? PlainRule | readonly PlainRule[] : T extends Several ? readonly PlainRule[] : PlainRule
export function parseRule(notation: string, options: NotationOptions = {}): PlainRule | readonly PlainRule[] {
  checkOptions('parseRule', options, OPTIONS)
  const { name } = options
  const read = readNotation(notation)
  if (read.length > 1 && typeof name === 'string') {
    throw new SluiceError('ERR_OPTION', `parseRule needs name to be a function if there are several rules, got ${show(name)}`, {
      option: 'name',
      value: name,
    })
  }
  const rules = read.map((values, i) => ruleOf(values, typeof name === 'function' ? name(i) : name))
  return rules.length === 1 ? rules[0] : rules
}

function ruleOf({ algorithm, limit, windowMs, calendar, burst, text }: NotationParts, name: string | undefined): PlainRule {
  const facts = findRuleFacts(algorithm)
  if (facts === undefined) {
    throw unknownWord(
      'algorithm',
      algorithm,
      ruleCatalogue.map((each) => each.algorithm),
      text,
    )
  }
  const { make, rate } = facts
  if ((rate.isCalendar ?? false) !== (calendar !== undefined)) {
    const words = rate.isCalendar ? "needs a unit of the calendar, such as 'calendar month'" : 'has no unit of the calendar'
    throw new SluiceError('ERR_NOTATION', `a ${algorithm} ${words}, in ${show(text)}`, { option: 'unit', value: calendar })
  }
  const options: Record<string, unknown> = { [rate.units]: limit, [rate.every]: calendar ?? windowMs }
  if (rate.burst !== undefined) options[rate.burst] = burst ?? limit
  else if (burst !== undefined) {
    const bursting = ruleCatalogue.filter((each) => each.rate.burst !== undefined).map((each) => each.algorithm)
    throw new SluiceError('ERR_NOTATION', `a ${algorithm} has no burst (${bursting.join(', ')} have), in ${show(text)}`, {
      option: 'burst',
      value: burst,
    })
  }
  if (name !== undefined) options.name = name
  return make(options as never) as PlainRule
}
