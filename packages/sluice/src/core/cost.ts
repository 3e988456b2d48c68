// Checks of costs and counts: whole numbers below 2^53.

import { mustBe } from './errors.ts'
import { isWhole } from './whole-numbers.ts'

/** Throws ERR_COST unless `cost` is a whole number of at least `least`, below 2^53. */
export function checkCost(cost: unknown, least: 0 | 1, name = 'cost'): asserts cost is number {
  // Object.is: −0 is a whole number in JavaScript, but it is never a cost.
  if (!isWhole(cost, least) || Object.is(cost, -0)) {
    throw mustBe('ERR_COST', name, `a whole number of at least ${least} and below 2^53`, cost)
  }
}

/** Throws ERR_COST unless `used` is a count that a rule can be set to. */
export function checkUsed(used: unknown, most: number): asserts used is number {
  if (!isWhole(used, 0, most) || Object.is(used, -0)) {
    throw mustBe('ERR_COST', 'used', `a whole number from 0 to ${most}`, used)
  }
}
