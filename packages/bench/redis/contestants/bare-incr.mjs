// Floor: one INCR a hit and nothing else. It never sets an expiry, so a key lives for ever and its window never ends:
// less than any limiter must do.

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
