import Koa from 'koa'
import { koaLimiter } from '../../../src/middleware/koa.ts'
import { askedNode, type Framework, listen, madeOnce, nodeBody, serverOf } from './framework.ts'

export const koa: Framework = {
  name: 'koa',
  asked: (ctx) => askedNode(ctx.req, ctx),
  speaksHttp2: true,
  answersWithResponse: false,
  start({ limiters, handle, onError, http2 }) {
    const app = new Koa()
    app.on('error', onError)
    for (const limiter of limiters.map(madeOnce((options) => koaLimiter(options)))) app.use(limiter)
    app.use(async (ctx) => {
      const answered = await handle(askedNode(ctx.req, ctx))
      ctx.status = answered.status
      ctx.body = nodeBody(answered)
    })
    return listen(serverOf(app.callback(), http2))
  },
}
