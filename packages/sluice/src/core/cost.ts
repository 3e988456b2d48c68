// Checks of costs and counts: whole numbers below 2^53.

import { mustBe, type SluiceError, show } from './errors.ts'
import { isWhole } from './whole-numbers.ts'

/**
 * Throws ERR_COST unless `cost` is a whole number of at least `least` and below 2^53. The error names `rule`, if one is passed.
 */
export function checkCost(cost: unknown, least: 0 | 1, rule?: string): asserts cost is number {
  // Object.is: −0 is a whole number in JavaScript, but it is never a cost.
  if (!isWhole(cost, least) || Object.is(cost, -0)) throw costError(cost, least, rule)
}

/**
 * Throws ERR_COST unless `cost` is a plain object. A map, a promise or an object with getters in its class has no own properties,
 * and would cost 1 on every rule.
 */
export function checkCosts(cost: unknown): asserts cost is Readonly<Record<string, unknown>> {
  if (typeof cost !== 'object' || cost === null) checkCost(cost, 1)
  const prototype: object | null = Object.getPrototypeOf(cost)
  // `Object.prototype`, also that of another realm, is the only prototype with this property.
  if (prototype === null || Object.hasOwn(prototype, 'isPrototypeOf')) return
  throw mustBe('ERR_COST', 'cost', 'a plain object of costs by rule name', cost)
}

/** A function of its own, so that `checkCost` stays small and V8 can inline it. */
function costError(cost: unknown, least: 0 | 1, rule: string | undefined): SluiceError {
  const need = `a whole number of at least ${least} and below 2^53`
  return mustBe('ERR_COST', rule ?? 'cost', need, cost, rule === undefined ? 'cost' : `the cost of ${show(rule)}`)
}

/** Throws ERR_COST unless `used` is a count that a rule can be set to. */
export function checkUsed(used: unknown, most: number): asserts used is number {
  if (!isWhole(used, 0, most) || Object.is(used, -0)) {
    throw mustBe('ERR_COST', 'used', `a whole number from 0 to ${most}`, used)
  }
}
