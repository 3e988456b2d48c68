import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { honoLimiter } from '../../../src/middleware/hono.ts'
import { askedWeb, type Framework, listen, madeOnce, serverOf, webBody } from './framework.ts'

/** Hono on node:http. */
export const hono: Framework = honoFramework('hono', (app) => getRequestListener(app.fetch))

/** Hono on a runtime that takes nothing but a Response, as all others do. */
export const honoElsewhere: Framework = {
  ...honoFramework('hono without node:http', (app) =>
    getRequestListener((request, { incoming }) => app.fetch(request, { incoming })),
  ),
  answersWithResponse: true,
}

function honoFramework(name: string, listenerOf: (app: Hono) => unknown): Framework {
  return {
    name,
    asked: (c) => askedWeb(c.req.raw, c),
    speaksHttp2: true,
    answersWithResponse: false,
    start({ limiters, handle, onError, http2 }) {
      const app = new Hono()
      for (const limiter of limiters.map(madeOnce((options) => honoLimiter(options)))) app.use(limiter)
      app.all('*', async (c) => {
        const answered = await handle(askedWeb(c.req.raw, c))
        return c.body(webBody(answered) as string, answered.status as 200)
      })
      app.onError((error, c) => {
        onError(error)
        return c.text('failed', 500)
      })
      return listen(serverOf(listenerOf(app) as never, http2))
    },
  }
}
