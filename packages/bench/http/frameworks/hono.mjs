import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { rateLimiter } from 'hono-rate-limiter'
import { honoLimiter } from 'sluice/hono'
import { bare, fieldsByHand, peer, sluice, sluiceWithoutFields } from '../frameworks.mjs'
import { listen } from '../listen.mjs'
import { ANSWER, limit, RULES, windowMs, writeFields } from '../quota.mjs'

/** @import { MiddlewareHandler } from 'hono' */

// It has no key of its own.
const keyGenerator = (/** @type {any} */ c) => c.env.incoming.socket.remoteAddress

export const servers = [
  sluice('app.use(honoLimiter({ rules }))', () => start(honoLimiter({ rules: RULES }))),
  sluiceWithoutFields(() => start(honoLimiter({ rules: RULES, headers: false }))),
  peer('hono-rate-limiter', 'app.use(rateLimiter({ windowMs, limit, keyGenerator }))', () =>
    start(rateLimiter({ windowMs, limit, keyGenerator })),
  ),
  fieldsByHand(() => start((c, next) => next().then(() => writeFields((name, value) => c.res.headers.set(name, value))))),
  bare(() => start()),
]

/** @param {MiddlewareHandler<any>[]} limiters */
function start(...limiters) {
  const app = new Hono()
  for (const limiter of limiters) app.use(limiter)
  app.get('/', (c) => c.json(ANSWER))
  return listen(createServer(getRequestListener(app.fetch)))
}
