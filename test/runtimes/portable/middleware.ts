// The middleware that needs nothing but Request and Response: sluice/fetch and sluice/hono.

import { Hono } from 'hono'
import { fixedWindow, memoryStore } from '../../../packages/sluice/src/index.ts'
import { fetchLimiter } from '../../../packages/sluice/src/middleware/fetch.ts'
import { honoLimiter } from '../../../packages/sluice/src/middleware/hono.ts'
import { failingStore, fakeClock } from '../../../packages/sluice/src/testing/index.ts'
import { expectEqual } from '../expect-equal.ts'
import type { PortableContext } from './index.ts'

const ADDRESS = 'X-Test-Address'

const from = (address: string): RequestInit => ({ headers: { [ADDRESS]: address } })

export function middlewareTests({ runner }: PortableContext): void {
  const rules = fixedWindow({ limit: 2, window: '1m' })

  /** Asks three times as one client and once as another. Returns statuses and fields. */
  async function ask(send: (init: RequestInit) => Promise<Response>): Promise<unknown> {
    const seen: unknown[] = []
    for (const address of ['203.0.113.9', '203.0.113.9', '203.0.113.9', '203.0.113.10']) {
      const { status, headers } = await send(from(address))
      seen.push([status, headers.get('RateLimit'), headers.get('Retry-After')])
    }
    return seen
  }

  const answers = [
    [200, '"fixed-window:2/1m";r=1;t=60', null],
    [200, '"fixed-window:2/1m";r=0;t=60', null],
    [429, '"fixed-window:2/1m";r=0;t=60', '60'],
    [200, '"fixed-window:2/1m";r=1;t=60', null],
  ]

  runner.describe('middleware', () => {
    runner.test('sluice/fetch', async () => {
      const store = memoryStore({ clock: fakeClock() })
      const limit = fetchLimiter({ rules, store, peer: (request) => request.headers.get(ADDRESS) })
      const handler = limit((_request: Request) => new Response('hello'))
      expectEqual('answers', await ask(async (init) => handler(new Request('http://localhost/', init))), answers)
      store.close()
    })

    runner.test('sluice/hono', async () => {
      const store = memoryStore({ clock: fakeClock() })
      const app = new Hono()
      app.use(honoLimiter({ rules, store, peer: (c) => c.req.header(ADDRESS) ?? null }))
      app.get('/', (c) => c.text('hello'))
      expectEqual('answers', await ask(async (init) => app.request('/', init)), answers)
      store.close()
    })

    runner.test('a store that fails is reported, and the fallback answers', async () => {
      const clock = fakeClock()
      const store = failingStore(clock)
      store.plan = 'lose-call'
      const limit = fetchLimiter({ rules, store, key: () => 'ada', failure: { then: 'allow' } })
      const response = await limit((_request: Request) => new Response('hello'))(new Request('http://localhost/'))
      expectEqual('status', response.status, 200)
    })
  })
}
