// The door `sluice/rules`: the facts about every rule, for programs that show, read or write rules.

export type {
  ChoiceFacts,
  DurationFacts,
  FlagFacts,
  OptionFacts,
  RateOptions,
  RuleFacts,
  TextFacts,
  Translation,
  UnitsFacts,
} from '../core/rule-facts.ts'
export { OPTION_BOUNDS } from '../core/rule-facts.ts'
export { type Algorithm, findRuleFacts, makeRule, type RuleSpec, ruleCatalogue } from './catalogue.ts'
export { CALENDAR_UNITS, NOTATION_UNITS, type NotationParts, readNotation } from './notation.ts'
