// Aside: hono-rate-limiter's MemoryStore called as only this one of its stores can be, without the await that its
// middleware puts before it.

export { create, packageName } from './hono-rate-limiter.mjs'

export const role = 'aside'
export const call = 'store.increment(key), then totalHits <= limit'
export const isAsync = false
