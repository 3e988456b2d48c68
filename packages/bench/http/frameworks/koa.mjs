import { createServer } from 'node:http'
import Koa from 'koa'
import { koaLimiter } from 'sluice/koa'
import { bare, fieldsByHand, sluice, sluiceWithoutFields } from '../frameworks.mjs'
import { listen } from '../listen.mjs'
import { ANSWER, RULES, writeFields } from '../quota.mjs'

/** @import { Middleware } from 'koa' */

export const servers = [
  sluice('app.use(koaLimiter({ rules }))', () => start(koaLimiter({ rules: RULES }))),
  sluiceWithoutFields(() => start(koaLimiter({ rules: RULES, headers: false }))),
  fieldsByHand(() =>
    start((ctx, next) => {
      writeFields((name, value) => ctx.set(name, value))
      return next()
    }),
  ),
  bare(() => start()),
]

/** @param {Middleware[]} limiters */
function start(...limiters) {
  const app = new Koa()
  for (const limiter of limiters) app.use(limiter)
  app.use((ctx) => {
    ctx.body = ANSWER
  })
  return listen(createServer(app.callback()))
}
