// Rules for tests, by name: the forms that the catalogue lists for each rule.

import { type Algorithm, ruleCatalogue } from '../algorithms/catalogue.ts'
import type { Rule } from '../core/rule.ts'
import type { RuleFacts } from '../core/rule-facts.ts'

/** Every rule in every form, with numbers that do not divide each other. No two share a name. */
export function everyRule(): readonly Rule[] {
  return ruleCatalogue.flatMap((facts) => Object.keys(facts.forms).map((form) => inForm(facts, form)))
}

/** One of `everyRule`: a rule in its plain form, or in the form of this name. */
export function exampleRule(algorithm: Algorithm, form = 'plain'): Rule {
  const facts = ruleCatalogue.find((each) => each.algorithm === algorithm)
  if (facts === undefined || !Object.hasOwn(facts.forms, form)) throw new Error(`no rule ${algorithm} has the form ${form}`)
  return inForm(facts, form)
}

/** A plain rule keeps its default name. Any other is named after its form, so that one limiter can have them all. */
function inForm({ make, forms }: RuleFacts, form: string): Rule {
  return make((form === 'plain' ? forms.plain : { ...forms[form], name: form }) as never)
}
