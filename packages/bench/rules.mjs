// The rules that the benches measure: all of the catalogue, but those that have nothing but holds and cannot be hit. Quotas are out of reach, except those of a rule that keeps a log:
// it keeps an entry for each hit it allowed, so it is shown with limits that somebody would set.

import { fixedWindow, gcra, leakyBucket, tokenBucket } from 'sluice'
import { ruleCatalogue } from 'sluice/rules'
import { LARGE_QUOTA } from './quota.mjs'

/** @import { Rule } from 'sluice' */
/** @import { RuleFacts } from 'sluice/rules' */

const { limit, windowMs } = LARGE_QUOTA

/** Quotas for a rule that keeps a log, by the words for them. */
const LOG_QUOTAS = { '10 in 1 s': { limit: 10, windowMs: 1000 }, '100 in 10 ms': { limit: 100, windowMs: 10 } }

/**
 * A rule of this rate. All of it may come at once.
 * @param {RuleFacts} facts
 * @param {{ limit: number, windowMs: number }} quota
 * @returns {Rule}
 */
function withQuota({ make, rate }, quota) {
  const burst = rate.burst === undefined ? {} : { [rate.burst]: quota.limit }
  return make(
    /** @type {never} */ ({ [rate.units]: quota.limit, [rate.every]: rate.isCalendar ? 'year' : quota.windowMs, ...burst }),
  )
}

/** A hit on a meter drains for minutes. At a faster rate it would have ended before the next hit on its key, which would find no state. */
const SLOW_CAPACITY = 1_000_000
const SLOW_REFILL = 7

/** The meters, with states that no run outlives. @type {Record<string, Rule>} */
export const METERS = {
  tokenBucket: tokenBucket({ capacity: SLOW_CAPACITY, refill: SLOW_REFILL, every: windowMs }),
  gcra: gcra({ limit: SLOW_REFILL, period: windowMs, burst: SLOW_CAPACITY }),
  leakyBucket: leakyBucket({ capacity: SLOW_CAPACITY, leak: SLOW_REFILL, every: windowMs }),
}

const RULES = ruleCatalogue
  .map((facts) => ({ facts, rule: METERS[facts.call] ?? withQuota(facts, LARGE_QUOTA) }))
  .filter(({ rule }) => !rule.isHeld)

/** Every rule of ours, those that keep a log last. @type {Record<string, Rule>} */
export const EVERY_RULE = Object.fromEntries([
  ...RULES.filter(({ rule }) => rule.log === undefined).map(({ facts, rule }) => [facts.call, rule]),
  ...RULES.filter(({ rule }) => rule.log !== undefined).flatMap(({ facts }) =>
    Object.entries(LOG_QUOTAS).map(([words, quota]) => [`${facts.call}, ${words}`, withQuota(facts, quota)]),
  ),
])

/**
 * Fixed windows of different lengths, for one limiter.
 * @param {number} count
 */
export function severalRules(count) {
  return Array.from({ length: count }, (_, i) => fixedWindow({ limit, window: windowMs * (i + 1), name: `window ${i + 1}` }))
}
