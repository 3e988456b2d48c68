// Peer: RateLimiterSQLite, connected to better-sqlite3 as its documentation says. A denial is a rejection.

import { RateLimiterSQLite } from 'rate-limiter-flexible'

/** @import { Create } from '../contestants.mjs' */

export const role = 'peer'
export const packageName = 'rate-limiter-flexible'
export const call = 'await limiter.consume(key)'
export const isAsync = true

/** @type {Create} */
export async function create(connection, { limit, windowMs }) {
  /** @type {InstanceType<typeof RateLimiterSQLite>} */
  const limiter = await new Promise((resolve, reject) => {
    const made = new RateLimiterSQLite(
      { storeClient: connection, storeType: 'better-sqlite3', tableName: 'limits', points: limit, duration: windowMs / 1000 },
      (/** @type {Error | undefined} */ error) => (error === undefined ? resolve(made) : reject(error)),
    )
  })
  return {
    hit: (key) => limiter.consume(key),
    isAllowed: () => true,
  }
}
