import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { type Handler, Hono } from 'hono'
import { describe, expect, onTestFinished, test } from 'vitest'
import { fixedWindow } from '../index.ts'
import { honoLimiter } from './hono.ts'

const POLICY = '"quota";q=2;w=60'

function appWith(handler: Handler = (c) => c.text('hello')) {
  const app = new Hono()
  const seen: (string | null)[] = []
  app.use(async (c, next) => {
    await next()
    seen.push(c.res.headers.get('ratelimit-policy'))
  })
  app.use(honoLimiter({ rules: fixedWindow({ limit: 2, window: '1m', name: 'quota' }), peer: () => '203.0.113.9' }))
  app.get('/', handler)
  return { app, seen }
}

async function onNode(app: Hono) {
  const server = createServer(getRequestListener(app.fetch)).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  return () => fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
}

describe('on node:http', () => {
  test('fields are written to its response, and the response of Hono has none', async () => {
    const { app, seen } = appWith()
    const ask = await onNode(app)
    expect((await ask()).headers.get('ratelimit-policy')).toBe(POLICY)
    expect(seen).toEqual([null])
  })

  test('a field that the handler sets replaces the same field', async () => {
    const { app } = appWith((c) => c.text('hello', 200, { 'RateLimit-Policy': '"own";q=1' }))
    const { headers } = await (await onNode(app))()
    expect(headers.get('ratelimit-policy')).toBe('"own";q=1')
    expect(headers.get('ratelimit')).toMatch(/^"quota";r=1;t=/)
  })

  test('a denial has the fields and the type of its body', async () => {
    const { app } = appWith()
    const ask = await onNode(app)
    await ask()
    await ask()
    const denied = await ask()
    expect([denied.status, denied.headers.get('content-type')]).toEqual([429, 'application/problem+json'])
    expect([denied.headers.get('ratelimit-policy'), denied.headers.get('retry-after')]).toEqual([POLICY, '60'])
  })
})

describe('a request that a handler makes, with its own env', () => {
  test('has its fields in its own response, and none in that of the handler', async () => {
    const inner: (string | null)[][] = []
    const { app } = appWith(async (c) => {
      for (let i = 0; i < 2; i++) {
        const { headers } = await app.request('/inner', {}, c.env)
        inner.push([headers.get('ratelimit'), headers.get('retry-after')])
      }
      return c.text('hello')
    })
    app.get('/inner', (c) => c.text('inner'))
    const { status, headers } = await (await onNode(app))()
    expect(inner).toEqual([
      ['"quota";r=0;t=60', null],
      ['"quota";r=0;t=60', '60'],
    ])
    expect([status, headers.get('ratelimit'), headers.get('retry-after')]).toEqual([200, '"quota";r=1;t=60', null])
  })
})

test('on node:http, two limiters write to one response, also if middleware between them replaces the Request', async () => {
  const app = new Hono()
  const limiterOf = (name: string) => honoLimiter({ rules: fixedWindow({ limit: 2, window: '1m', name }) })
  app.use(limiterOf('outer'))
  app.use((c, next) => {
    c.req.raw = new Request(c.req.raw)
    return next()
  })
  app.use(limiterOf('inner'))
  app.get('/', (c) => c.text('hello'))
  const { headers } = await (await onNode(app))()
  expect(headers.get('ratelimit')).toBe('"outer";r=1;t=60, "inner";r=1;t=60')
})

describe('elsewhere', () => {
  test.each([
    ['without anything beside the request', undefined],
    ['with a setting that has the name of a response', { incoming: {}, outgoing: 'https://example.com' }],
    ['with a response that has been sent', { incoming: {}, outgoing: { setHeader() {}, headersSent: true } }],
  ])('fields are written to the response of Hono: %s', async (_, env) => {
    const { app, seen } = appWith()
    const { headers } = await app.request('/', {}, env)
    expect(headers.get('ratelimit-policy')).toBe(POLICY)
    expect(seen).toEqual([POLICY])
  })
})
