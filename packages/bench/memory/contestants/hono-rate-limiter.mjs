// Peer: hono-rate-limiter's MemoryStore, awaited as its own middleware awaits it, because the stores that it takes
// may answer with a promise. What the same call costs without the await is in hono-rate-limiter-at-once.mjs.

import { MemoryStore } from 'hono-rate-limiter'

/** @import { Create } from '../contestants.mjs' */

export const role = 'peer'
export const packageName = 'hono-rate-limiter'
export const call = 'await store.increment(key), then totalHits <= limit'
export const isAsync = true

/** @type {Create} */
export function create({ limit, windowMs }) {
  const store = new MemoryStore()
  store.init(/** @type {any} */ ({ windowMs }))
  return {
    hit: (key) => store.increment(key),
    isAllowed: (info) => info.totalHits <= limit,
  }
}
