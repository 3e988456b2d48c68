// Floor: the least that a fixed window over string keys can be. It reads the clock, as every real limiter
// must, and it never forgets a key, which no real limiter could afford.

/** @import { Create } from '../contestants.mjs' */

export const role = 'floor'
export const packageName = null
export const call = 'map.get(key), in a Map<string, { count, expiresAt }>'
export const isAsync = false

/** @type {Create} */
export function create({ limit, windowMs }) {
  /** @type {Map<string, { count: number, expiresAt: number }>} */
  const windows = new Map()
  return {
    hit: (key) => {
      const now = Date.now()
      const window = windows.get(key)
      if (window === undefined || now >= window.expiresAt) {
        windows.set(key, { count: 1, expiresAt: now + windowMs })
        return true
      }
      if (window.count >= limit) return false
      window.count += 1
      return true
    },
    isAllowed: (allowed) => allowed,
  }
}
