// Hono: limits per plan, by user. Try:
//   curl -i http://127.0.0.1:3000/ -H 'X-User: ada'
//   curl -i http://127.0.0.1:3000/ -H 'X-User: bob'

import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { fixedWindow } from 'sluice'
import { honoLimiter } from 'sluice/hono'
import { rulesByRequest } from 'sluice/requests'

const users = new Map([
  ['ada', 'pro'],
  ['bob', 'free'],
])
/** @type {Record<string, import('sluice').Rule>} */
const plans = {
  free: fixedWindow({ limit: 2, window: '1m', name: 'plan' }),
  pro: fixedWindow({ limit: 100, window: '1m', name: 'plan' }),
}

const app = new Hono()
app.use(
  honoLimiter({
    key: (c, { address }) => c.req.header('x-user') ?? address.key,
    rules: rulesByRequest((c) => plans[users.get(c.req.header('x-user') ?? '') ?? 'free']),
  }),
)
app.get('/', (c) => c.text('hello\n'))

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.env.PORT ?? 3000) }, ({ port }) => {
  console.log(`listening on http://127.0.0.1:${port}/`)
})
