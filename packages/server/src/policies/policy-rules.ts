// Makes the rules of a policy from the form that people write.
// Invariant: the name of a rule contains neither its numbers nor the name of its policy. A policy keeps its counts when its limit
// changes, and the counted key alone decides if two policies share a count.

import { createLimiter, holds, type Per, type PerOption, parseRule, type Rule, SluiceError } from 'sluice'
import { makeRule, type NotationParts, type RuleSpec, readNotation } from 'sluice/rules'
import { LIMITS } from '../contract/limits.ts'
import type { Problem } from '../errors.ts'
import { within } from '../input/check-input.ts'
import { show } from '../input/near-word.ts'

/** One rule, or a list of rules, as people write them. */
export type WrittenRules = string | RuleSpec | readonly (string | RuleSpec)[]

export interface PolicyRules {
  /** Rules that count, without those of limit 0. The library has no rule of limit 0. */
  readonly rules: readonly Rule[]
  /** The keys that a rule counts by, by its name. */
  readonly per: ReadonlyMap<string, readonly string[]>
  /** The first rule of limit 0. */
  readonly closedBy: string | undefined
}

/** One rule as it was read. */
interface ReadRule {
  readonly rule: Rule
  readonly per: Per
  /** True if its limit is 0. Then `rule` has another limit, and only its name is used. */
  readonly isClosed: boolean
}

/** Makes the rules that are written at the path `at`. `per` holds for rules without one of their own. Adds problems to `problems`. */
export function readRules(
  { rules: written, per: ofAll }: { readonly rules: WrittenRules; readonly per: PerOption },
  at: string,
  problems: Problem[],
): PolicyRules {
  const read: ReadRule[] = []
  const specs = [written].flat() as readonly (string | RuleSpec)[]
  specs.forEach((spec, i) => {
    try {
      read.push(...readRule(spec, ofAll, (index) => `rule-${read.length + index + 1}`))
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error
      const path = pathOf(error, spec, Array.isArray(written) ? within(at, i) : at)
      problems.push({ at: path, message: `${path}: ${error.message}` })
    }
  })
  const names = read.map(({ rule }) => rule.name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) problems.push({ at, message: `two of ${at} are called ${show(twice)}: give each a name of its own` })
  if (read.length > LIMITS.mostRules) {
    problems.push({ at, message: `${at} must be 1 to ${LIMITS.mostRules} in all, and has ${read.length}` })
  }
  const counting = read.filter(({ isClosed }) => !isClosed)
  return {
    rules: Object.freeze(counting.map(({ rule }) => rule)),
    per: new Map(counting.flatMap(({ rule, per }) => (per === undefined ? [] : [[rule.name, per]]))),
    closedBy: read.find(({ isClosed }) => isClosed)?.rule.name,
  }
}

/** Returns the path of an error: the option that it is about, or the whole rule. Notation has no options. */
function pathOf({ option }: SluiceError, spec: string | RuleSpec, at: string): string {
  return typeof spec === 'string' || option === undefined ? at : within(at, option)
}

/** Returns the rules of one entry: a notation may have several. `nameAt` names a rule that has no name of its own. */
function readRule(spec: string | RuleSpec, ofAll: PerOption, nameAt: (index: number) => string): readonly ReadRule[] {
  if (typeof spec === 'string') {
    const per = sortedPer(ofAll)
    return readNotation(spec).map((parts, i) => ({ ...ruleIn(parts, nameAt(i)), per }))
  }
  const { per = ofAll, ...options } = spec
  const isClosed = 'limit' in options && options.limit === 0
  const rule = makeRule({ ...options, ...(isClosed && { limit: 1 }), name: spec.name ?? nameAt(0) } as RuleSpec)
  if (rule.isHeld) tryHolds(rule)
  return [{ rule, per: sortedPer(per), isClosed }]
}

/** Makes one rule of a notation. A limit of 0 is read as 1, to find other mistakes. */
function ruleIn({ limit, burst, text }: NotationParts, name: string): Pick<ReadRule, 'rule' | 'isClosed'> {
  const isClosed = limit === 0 && burst === undefined
  return { rule: parseRule(isClosed ? text.replace(/\d+/, '1') : text, { name }) as Rule, isClosed }
}

/** Returns the keys, sorted. Throws ERR_RULE if one of them is named twice. */
function sortedPer(per: PerOption): Per {
  if (per === undefined) return undefined
  const keys = [per].flat().sort()
  const twice = keys.find((key, i) => keys.indexOf(key) !== i)
  if (twice === undefined) return Object.freeze(keys)
  throw new SluiceError('ERR_RULE', `per names ${show(twice)} twice`, { option: 'per', value: per })
}

/** Throws if no limiter can hold units under the rule, because its places would be kept for too long. */
function tryHolds(rules: Rule): void {
  createLimiter({ rules, holds: holds() }).close()
}
