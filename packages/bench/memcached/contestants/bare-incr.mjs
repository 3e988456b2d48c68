// Floor: one incr per hit through the peer's client, on counters that exist. No window ends.

import Memcached from 'memcached'

/** @import { Create } from '../contestants.mjs' */

export const role = 'floor'
export const packageName = null
export const call = 'client.incr(key), then count <= limit; a first hit adds the counter'

/** @type {Create} */
export function create(port, { limit }) {
  const client = new Memcached(`127.0.0.1:${port}`)
  return {
    hit: (key) =>
      new Promise((resolve, reject) => {
        client.incr(key, 1, (/** @type {unknown} */ error, /** @type {number | false} */ count) => {
          if (error) reject(error)
          else if (count !== false) resolve(count)
          // The counter may be there by now. Then this hit is not counted, which makes the floor no slower.
          else client.add(key, 1, 3600, () => resolve(1))
        })
      }),
    isAllowed: (count) => count <= limit,
    close: () => client.end(),
  }
}
