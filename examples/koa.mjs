// Koa: a new limit in shadow mode, beside an enforced one. Run it three times and read the output:
//   curl -i http://127.0.0.1:3000/

import Koa from 'koa'
import { fixedWindow } from 'sluice'
import { koaLimiter } from 'sluice/koa'

const app = new Koa()
app.use(koaLimiter({ rules: fixedWindow({ limit: 100, window: '1m', name: 'today' }) }))
app.use(
  koaLimiter({
    rules: fixedWindow({ limit: 2, window: '1m', name: 'planned' }),
    mode: 'shadow',
    onShadowDenied: ({ key, decision }) => console.log(`${key} would wait ${decision?.retryAfterMs} ms`),
  }),
)
app.use((ctx) => {
  ctx.body = 'hello\n'
})

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  console.log(`listening on http://127.0.0.1:${port}/`)
})
