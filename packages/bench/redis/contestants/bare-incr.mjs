// Floor: one INCR per hit and nothing else. It sets no expiry, so a key never ends. Every real limiter must do more.

/** @import { Create } from '../contestants.mjs' */

export const role = 'floor'
export const packageName = null
export const call = 'await client.incr(key), then count <= limit; no expiry'
export const sends = ['incr']

/** @type {Create} */
export function create({ client }, { limit }) {
  return {
    hit: (key) => client.incr(key),
    isAllowed: (count) => count <= limit,
  }
}
