import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { honoLimiter } from '../../../src/middleware/hono.ts'
import { askedWeb, type Framework, listen, madeOnce, serverOf } from './framework.ts'

export const hono: Framework = {
  name: 'hono',
  asked: ({ req }) => askedWeb(req.raw),
  speaksHttp2: true,
  answersWithResponse: true,
  start({ limiters, handle, onError, http2 }) {
    const app = new Hono()
    for (const limiter of limiters.map(madeOnce((options) => honoLimiter(options)))) app.use(limiter)
    app.all('*', async (c) => {
      const { status, body } = await handle(askedWeb(c.req.raw))
      return c.body(body, status as 200)
    })
    app.onError((error, c) => {
      onError(error)
      return c.text('failed', 500)
    })
    return listen(serverOf(getRequestListener(app.fetch) as never, http2))
  },
}
