import { createServer } from 'node:http'
import express from 'express'
import { rateLimit } from 'express-rate-limit'
import { expressLimiter } from 'sluice/express'
import { bare, fieldsByHand, peer, sluice, sluiceWithoutFields } from '../frameworks.mjs'
import { listen } from '../listen.mjs'
import { answer, limit, rules, windowMs, writeFields } from '../quota.mjs'

/** @import { RequestHandler } from 'express' */

export const servers = [
  sluice('app.use(expressLimiter({ rules }))', () => start(expressLimiter({ rules }))),
  sluiceWithoutFields(() => start(expressLimiter({ rules, headers: false }))),
  peer('express-rate-limit', 'app.use(rateLimit({ windowMs, limit }))', () => start(rateLimit({ windowMs, limit }))),
  fieldsByHand(() =>
    start((_req, res, next) => {
      writeFields((name, value) => res.setHeader(name, value))
      next()
    }),
  ),
  bare(() => start()),
]

/** @param {RequestHandler[]} limiters */
function start(...limiters) {
  const app = express()
  for (const limiter of limiters) app.use(limiter)
  app.get('/', (_req, res) => void res.json(answer))
  return listen(createServer(app))
}
