// Rules for tests: every rule in the forms that the catalogue lists.

import { type Algorithm, ruleCatalogue } from '../algorithms/catalogue.ts'
import type { Rule } from '../core/rule.ts'
import type { RuleFacts } from '../core/rule-facts.ts'

/**
 * Returns every rule that counts hits, in every form. Their numbers do not divide each other, and no two rules share a name. Rules
 * that have nothing but holds are not among them.
 */
export function everyRule(): readonly Rule[] {
  const rules = ruleCatalogue.flatMap((facts) => Object.keys(facts.forms).map((form) => inForm(facts, form)))
  return rules.filter(({ isHeld }) => !isHeld)
}

/** Returns one rule of `everyRule`, in its plain form or in the form of this name. */
export function exampleRule(algorithm: Algorithm, form = 'plain'): Rule {
  const facts = ruleCatalogue.find((each) => each.algorithm === algorithm)
  if (facts === undefined || !Object.hasOwn(facts.forms, form)) throw new Error(`no rule ${algorithm} has the form ${form}`)
  return inForm(facts, form)
}

/**
 * Makes a rule in a form. A plain rule has its default name. Others are named after their form, so that one limiter can have all.
 */
function inForm({ make, forms }: RuleFacts, form: string): Rule {
  return make((form === 'plain' ? forms.plain : { ...forms[form], name: form }) as never)
}
