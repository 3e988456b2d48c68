import Koa from 'koa'
import { koaLimiter } from '../../../src/middleware/koa.ts'
import { askedNode, type Framework, listen, madeOnce, serverOf } from './framework.ts'

export const koa: Framework = {
  name: 'koa',
  asked: ({ req }) => askedNode(req),
  speaksHttp2: true,
  answersWithResponse: false,
  start({ limiters, handle, onError, http2 }) {
    const app = new Koa()
    app.on('error', onError)
    for (const limiter of limiters.map(madeOnce((options) => koaLimiter(options)))) app.use(limiter)
    app.use(async (ctx) => {
      const { status, body } = await handle(askedNode(ctx.req))
      ctx.status = status
      ctx.body = body
    })
    return listen(serverOf(app.callback(), http2))
  },
}
