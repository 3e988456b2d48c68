import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { fetchLimiter } from 'sluice/fetch'
import { bare, fieldsByHand, sluice, sluiceWithoutFields } from '../frameworks.mjs'
import { listen } from '../listen.mjs'
import { ANSWER, RULES, writeFields } from '../quota.mjs'

export const servers = [
  sluice('fetchLimiter({ rules })(handler)', () => start(fetchLimiter({ rules: RULES })(hello))),
  sluiceWithoutFields(() => start(fetchLimiter({ rules: RULES, headers: false })(hello))),
  fieldsByHand(() =>
    start((request, env) => {
      const response = hello(request, env)
      writeFields((name, value) => response.headers.set(name, value))
      return response
    }),
  ),
  bare(() => start(hello)),
]

/** @param {(request: Request, env: any) => Response | Promise<Response>} handler */
function start(handler) {
  return listen(createServer(getRequestListener(handler)))
}

/**
 * @param {Request} _request
 * @param {any} _env
 */
function hello(_request, _env) {
  return new Response(JSON.stringify(ANSWER), { headers: { 'Content-Type': 'application/json' } })
}
