import rateLimit from '@fastify/rate-limit'
import fastify from 'fastify'
import { fastifyLimiter } from 'sluice/fastify'
import { bare, fieldsByHand, peer, sluice, sluiceWithoutFields } from '../frameworks.mjs'
import { ANSWER, limit, RULES, windowMs, writeFields } from '../quota.mjs'

/** @import { FastifyInstance } from 'fastify' */

export const servers = [
  sluice('app.register(fastifyLimiter, { rules })', () => start((app) => app.register(fastifyLimiter, { rules: RULES }))),
  sluiceWithoutFields(() => start((app) => app.register(fastifyLimiter, { rules: RULES, headers: false }))),
  peer('@fastify/rate-limit', 'app.register(rateLimit, { max, timeWindow })', () =>
    start((app) => app.register(rateLimit, { max: limit, timeWindow: windowMs })),
  ),
  fieldsByHand(() =>
    start((app) =>
      app.addHook('onRequest', (_request, reply, next) => {
        writeFields((name, value) => reply.header(name, value))
        next()
      }),
    ),
  ),
  bare(() => start(() => {})),
]

/** @param {(app: FastifyInstance) => unknown} limit */
async function start(limit) {
  const app = fastify()
  await limit(app)
  app.get('/', () => ANSWER)
  await app.listen({ port: 0, host: '127.0.0.1' })
  return /** @type {import('node:net').AddressInfo} */ (app.server.address()).port
}
