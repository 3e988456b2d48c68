import { createServer } from 'node:http'
import express from 'express'
import { rateLimit } from 'express-rate-limit'
import { expressLimiter } from 'sluice/express'
import { bare, fieldsByHand, peer, sluice, sluiceWithoutFields } from '../frameworks.mjs'
import { listen } from '../listen.mjs'
import { ANSWER, limit, RULES, windowMs, writeFields } from '../quota.mjs'

/** @import { RequestHandler } from 'express' */

export const servers = [
  sluice('app.use(expressLimiter({ rules }))', () => start(expressLimiter({ rules: RULES }))),
  sluiceWithoutFields(() => start(expressLimiter({ rules: RULES, headers: false }))),
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
  app.get('/', (_req, res) => void res.json(ANSWER))
  return listen(createServer(app))
}
