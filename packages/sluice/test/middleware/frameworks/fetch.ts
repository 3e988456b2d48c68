import { getRequestListener } from '@hono/node-server'
import { fetchLimiter } from '../../../src/middleware/fetch.ts'
import { askedWeb, type Framework, listen, madeOnce, serverOf, webBody } from './framework.ts'

export const fetch: Framework = {
  name: 'fetch',
  asked: askedWeb,
  speaksHttp2: true,
  answersWithResponse: true,
  start({ limiters, handle, onError, http2 }) {
    type Handler = (request: Request, env: unknown) => Response | Promise<Response>
    const last: Handler = async (request) => {
      const answered = await handle(askedWeb(request))
      return new Response(webBody(answered), { status: answered.status })
    }
    const limits = limiters.map(madeOnce((options) => fetchLimiter(options)))
    const limited = limits.reduceRight<Handler>((inner, limit) => limit(inner), last)
    const handler: Handler = async (request, env) => {
      try {
        return await limited(request, env)
      } catch (error) {
        onError(error)
        return new Response('failed', { status: 500 })
      }
    }
    return listen(serverOf(getRequestListener(handler as never) as never, http2))
  },
}
