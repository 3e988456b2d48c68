// Ours: the public API with a default memory store. It is larger only if a task needs more keys.

import { createLimiter, fixedWindow, memoryStore } from 'sluice'

/** @import { Rule } from 'sluice' */
/** @import { Create, Limiter } from '../contestants.mjs' */

const DEFAULT_MAX_KEYS = 1_000_000

export const role = 'sluice'
export const packageName = 'sluice'
export const call = 'limiter.hit(key)'
export const isAsync = false

/** @type {Create} */
export function create({ limit, windowMs, keys }) {
  return limiterOver(fixedWindow({ limit, window: windowMs }), keys)
}

/**
 * @param {Rule | Rule[]} rules
 * @param {number} states how many it must hold: one for each rule and key
 * @returns {Limiter}
 */
export function limiterOver(rules, states) {
  const store = states > DEFAULT_MAX_KEYS ? memoryStore({ maxKeys: states }) : memoryStore()
  const limiter = createLimiter({ rules, store })
  return {
    hit: (key) => limiter.hit(key),
    isAllowed: (decision) => decision.allowed,
    size: () => store.size,
  }
}
