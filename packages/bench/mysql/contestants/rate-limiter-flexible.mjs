// Peer: RateLimiterMySQL, as its documentation begins. A denial is a rejection.

import { RateLimiterMySQL } from 'rate-limiter-flexible'

/** @import { Create } from '../contestants.mjs' */

export const role = 'peer'
export const packageName = 'rate-limiter-flexible'
export const call = 'await limiter.consume(key)'

/** @type {Create} */
export function create(pool, table, { limit, windowMs }) {
  return new Promise((resolve, reject) => {
    const where = { storeClient: pool, storeType: 'pool', dbName: 'app', tableName: table }
    const limiter = new RateLimiterMySQL({ ...where, points: limit, duration: windowMs / 1000 }, (error) => {
      if (error) reject(error)
      else resolve({ hit: (key) => limiter.consume(key), isAllowed: () => true })
    })
  })
}
