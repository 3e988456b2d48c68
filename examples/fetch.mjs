// A handler from Request to Response. `Deno.serve(handler)` and `Bun.serve({ fetch: handler })` take it as it is, and so do Workers and
// Next.js, once `peer` says where they have the client's address. Here, Node serves it. Try:
//   curl -i http://127.0.0.1:3000/

import { serve } from '@hono/node-server'
import { parseRule } from 'sluice'
import { fetchLimiter } from 'sluice/fetch'
import { clientList } from 'sluice/http'

const limit = fetchLimiter({ rules: parseRule('3/minute'), block: clientList({ addresses: ['203.0.113.0/24'] }) })

const handler = limit(() => new Response('hello\n'))

serve({ fetch: handler, hostname: '127.0.0.1', port: Number(process.env.PORT ?? 3000) }, ({ port }) => {
  console.log(`listening on http://127.0.0.1:${port}/`)
})
