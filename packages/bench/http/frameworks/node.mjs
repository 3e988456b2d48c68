import { createServer } from 'node:http'
import { nodeLimiter } from 'sluice/node'
import { bare, fieldsByHand, sluice, sluiceWithoutFields } from '../frameworks.mjs'
import { listen } from '../listen.mjs'
import { ANSWER, RULES, writeFields } from '../quota.mjs'

/** @import { IncomingMessage, ServerResponse } from 'node:http' */

export const servers = [
  sluice('nodeLimiter({ rules })(req, res, next)', () => startLimited(nodeLimiter({ rules: RULES }))),
  sluiceWithoutFields(() => startLimited(nodeLimiter({ rules: RULES, headers: false }))),
  fieldsByHand(() =>
    startLimited((_req, res, next) => {
      writeFields((name, value) => res.setHeader(name, value))
      next()
    }),
  ),
  bare(() => listen(createServer(hello))),
]

/** @param {ReturnType<typeof nodeLimiter>} limit */
function startLimited(limit) {
  return listen(createServer((req, res) => limit(req, res, () => hello(req, res))))
}

/**
 * @param {IncomingMessage} _req
 * @param {ServerResponse} res
 */
function hello(_req, res) {
  res.setHeader('Content-Type', 'application/json')
  res.end(JSON.stringify(ANSWER))
}
