import type { AddressInfo } from 'node:net'
import createFastify, { type FastifyInstance } from 'fastify'
import { fastifyLimiter } from '../../../src/middleware/fastify.ts'
import { askedNode, type Framework, nodeBody } from './framework.ts'

export const fastify: Framework = {
  name: 'fastify',
  asked: (request) => askedNode(request.raw, request),
  speaksHttp2: true,
  answersWithResponse: false,
  async start({ limiters, handle, onError, http2 }) {
    const app: FastifyInstance = http2 ? (createFastify({ http2: true }) as never) : createFastify()
    // A plugin that is registered twice with the same limiter is what comes nearest to one that is mounted twice.
    for (const options of limiters) await app.register(fastifyLimiter, options)
    app.setErrorHandler((error, _request, reply) => {
      onError(error)
      reply.code(500).send('failed')
    })
    app.route({
      method: ['GET', 'HEAD', 'POST', 'OPTIONS'],
      url: '*',
      handler: async (request, reply) => {
        const answered = await handle(askedNode(request.raw, request))
        return reply.code(answered.status).send(nodeBody(answered))
      },
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    return {
      port: (app.server.address() as AddressInfo).port,
      async stop() {
        app.server.closeAllConnections?.()
        await app.close()
      },
    }
  },
}
