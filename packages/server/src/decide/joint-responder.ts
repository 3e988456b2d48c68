// Writes the headers of decisions over the rules of several policies.
// Invariant: the fields stay below LONGEST_FIELDS, however many rules decide. Proxies refuse a response whose headers do not fit a buffer,
// which has 4 kB in nginx by default.

import type { Decision, Rule } from 'sluice'
import { createResponder, type Responder } from 'sluice/http'

/** Characters of RateLimit and RateLimit-Policy together, by an estimate. */
const LONGEST_FIELDS = 3000

/** Characters of a rule in one of the fields, besides its name. */
const NUMBERS = 24

/** Returns a responder whose fields have every rule, or only the rule that speaks if all of them would be too long. */
export function jointResponder(rules: readonly Rule[]): Responder {
  const length = rules.reduce((sum, { name }) => sum + 2 * (name.length + NUMBERS), 0)
  return length <= LONGEST_FIELDS ? createResponder({ rules }) : speakingResponder(rules)
}

function speakingResponder(rules: readonly Rule[]): Responder {
  /** Made when a rule speaks for the first time. */
  const byRule = new Map<string, Responder>()
  const responderOf = ({ rule: name }: Decision): Responder => {
    const known = byRule.get(name) ?? createResponder({ rules: rules.filter((rule) => rule.name === name) })
    byRule.set(name, known)
    return known
  }
  /** Made with the first denial. */
  let ofAll: Responder | undefined
  const headers: Responder['headers'] = (decision, partitionKey) => responderOf(decision).headers(decision, partitionKey)
  return {
    headers,
    denial: (decision, partitionKey) => {
      // The body names every rule that denies.
      ofAll ??= createResponder({ rules })
      const { status, body, headers: all } = ofAll.denial(decision, partitionKey)
      return { status, body, headers: { ...headers(decision, partitionKey), 'Content-Type': all['Content-Type'] } }
    },
  }
}
