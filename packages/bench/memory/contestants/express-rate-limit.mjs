// Peer: express-rate-limit's MemoryStore by itself, without the middleware. `increment` is an async method.

import { MemoryStore } from 'express-rate-limit'

/** @import { Create } from '../contestants.mjs' */

export const role = 'peer'
export const packageName = 'express-rate-limit'
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
