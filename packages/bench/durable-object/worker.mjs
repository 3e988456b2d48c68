// The Worker of the bench: /sluice and /bare-counter decide one hit on the key in the query. Each uses one Durable Object.

import { createLimiter, fixedWindow } from 'sluice'
import { durableObjectStore } from 'sluice/durable-object'
import { LARGE_QUOTA } from '../quota.mjs'

/** @import { ObjectContext, ObjectNamespace } from 'sluice/durable-object' */
/** @import { Limiter } from 'sluice' */

/** @typedef {{ SLUICE: ObjectNamespace, BARE: ObjectNamespace }} Env */

export { SluiceObject } from 'sluice/durable-object'

/** Floor: a counter by hand. A key never ends, and none is ever removed. */
export class BareCounter {
  /** @param {ObjectContext} ctx */
  constructor({ storage }) {
    this.sql = storage.sql
    this.sql.exec('CREATE TABLE IF NOT EXISTS counts (key TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID')
  }

  /** @param {Request} request */
  async fetch(request) {
    const upsert = 'INSERT INTO counts VALUES (?, 1) ON CONFLICT (key) DO UPDATE SET count = count + 1 RETURNING count'
    const [{ count }] = this.sql.exec(upsert, await request.text()).toArray()
    return new Response(String(count))
  }
}

/** @type {Limiter<'async'> | undefined} */
let limiter

/** @type {Record<string, (env: Env, key: string) => Promise<boolean>>} */
const CONTESTANTS = {
  async '/sluice'(env, key) {
    limiter ??= createLimiter({
      rules: fixedWindow({ limit: LARGE_QUOTA.limit, window: LARGE_QUOTA.windowMs }),
      store: durableObjectStore(env.SLUICE),
      failure: { timeoutMs: 10_000 },
    })
    return (await limiter.hit(key)).allowed
  },
  async '/bare-counter'({ BARE }, key) {
    const answer = await BARE.get(BARE.idFromName('bare')).fetch('https://object/', { method: 'POST', body: key })
    return Number(await answer.text()) <= LARGE_QUOTA.limit
  },
}

export default {
  /**
   * @param {Request} request
   * @param {Env} env
   */
  async fetch(request, env) {
    const { pathname, search } = new URL(request.url)
    const decide = CONTESTANTS[pathname]
    if (decide === undefined) return new Response('started')
    return new Response((await decide(env, decodeURIComponent(search.slice(1)))) ? 'allowed' : 'denied')
  },
}
