// The nginx recipe of docs/guides/behind-a-proxy.md on a real nginx. Only its addresses and key are replaced.

import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startNginx } from './servers/nginx-server.mjs'
import { freePort } from './servers/redis-server.mjs'
import { type SluiceService, startSluice } from './servers/sluice-service.mjs'

const guide = readFileSync(new URL('../docs/guides/behind-a-proxy.md', import.meta.url), 'utf8')
const recipe = /^```nginx\n([\s\S]*?)^```$/m.exec(guide)?.[1] ?? ''

let service: SluiceService
let nginx: { stop(): Promise<void> }
let url = ''
let application: {
  readonly port: number
  readonly seen: { url: string; body: string; headers: IncomingHttpHeaders }[]
  close(): void
}

beforeAll(async () => {
  service = await startSluice()
  const made = await service.call('POST', '/v1/keys', { name: 'proxy', scopes: ['check'] })
  await service.call('PUT', '/v1/policies/tight', { route: '/orders*', rules: '3/hour' })
  application = await startApplication()
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  nginx = await startNginx(port, filledIn(port, made.body.data.secret))
})

afterAll(async () => {
  await nginx?.stop()
  application?.close()
  await service?.remove()
})

beforeEach(() => {
  application.seen.length = 0
})

/** The recipe with the addresses and the key of this test. Each must occur in it. */
function filledIn(port: number, key: string): string {
  const changes = [
    ['server 127.0.0.1:8080;', `server ${new URL(service.url).host};`],
    ['listen 80;', `listen 127.0.0.1:${port};`],
    ['proxy_pass http://127.0.0.1:3000;', `proxy_pass http://127.0.0.1:${application.port};`],
    ['"your key"', `"${key}"`],
  ]
  return changes.reduce((text, [from, to]) => {
    expect(text).toContain(from)
    return text.replace(from, to)
  }, recipe)
}

async function startApplication() {
  const seen: { url: string; body: string; headers: IncomingHttpHeaders }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    seen.push({ url: request.url ?? '', body, headers: request.headers })
    response.writeHead(request.url === '/forbidden' ? 403 : 200).end('the application')
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { port: (server.address() as AddressInfo).port, seen, close }
}

const reset = (route: string) => service.call('POST', '/v1/reset', { client_id: '127.0.0.1', route })

test('what is within the limit passes, with its body and with headers that tell what is left', async () => {
  await reset('*')
  const response = await fetch(`${url}/hello?page=2`, { method: 'POST', body: 'a body' })
  expect(response.status).toBe(200)
  expect(await response.text()).toBe('the application')
  expect(response.headers.get('ratelimit')).toMatch(/r=99;t=\d+/)
  expect(response.headers.get('ratelimit-policy')).toMatch(/q=100;w=60/)
  expect(application.seen).toMatchObject([{ url: '/hello?page=2', body: 'a body' }])
  expect(application.seen[0].headers).not.toHaveProperty('api-key')
})

test('what is beyond it is answered 429, with when to come again, and does not reach the application', async () => {
  await reset('/orders')
  for (let i = 0; i < 3; i++) expect((await fetch(`${url}/orders?page=${i}`)).status).toBe(200)
  const denied = await fetch(`${url}/orders`)
  expect(denied.status).toBe(429)
  expect(Number(denied.headers.get('retry-after'))).toBeGreaterThan(3000)
  expect(denied.headers.get('ratelimit')).toContain('r=0')
  expect(await denied.json()).toEqual({ title: 'Too many requests', status: 429 })
  expect(application.seen.length).toBe(3)
  expect((await fetch(`${url}/orders/7`)).status).toBe(200)
})

test('a client that asks for a new path each time is limited', async () => {
  await reset('*')
  const statuses: number[] = []
  // The window may end once on the way. Of 250 requests in at most two windows, 50 are too many.
  for (let i = 0; i < 250; i++) statuses.push((await fetch(`${url}/path-${i}`)).status)
  const allowed = statuses.filter((status) => status === 200).length
  expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([])
  expect(allowed).toBeGreaterThanOrEqual(100)
  expect(allowed).toBeLessThanOrEqual(200)
  await reset('*')
})

test('no header of a client, and no spelling of a path, gets around it', async () => {
  await reset('/orders/9')
  for (let i = 0; i < 3; i++) await fetch(`${url}/orders/9`)
  const tries: (readonly [path: string, headers: Record<string, string>])[] = [
    ['/orders/9', { 'X-Forwarded-For': '203.0.113.7' }],
    ['/orders/9', { 'X-Forwarded-Uri': '/elsewhere' }],
    ['/orders/9', { 'X-Original-URI': '/elsewhere' }],
    ['/orders/9', { Forwarded: 'for=203.0.113.7' }],
    ['/orders/9', { 'Api-Key': 'mine' }],
    ['/orders/9?client=somebody&route=/elsewhere', {}],
    ['//orders///9', {}],
    ['/orders/%39', {}],
    ['/orders/8/%2e%2e/9', {}],
  ]
  for (const [path, headers] of tries) {
    expect((await fetch(`${url}${path}`, { headers })).status, `${path} ${JSON.stringify(headers)}`).toBe(429)
  }
})

test("a 403 of the application's own stays as it is", async () => {
  await reset('*')
  const response = await fetch(`${url}/forbidden`)
  expect([response.status, await response.text()]).toEqual([403, 'the application'])
})

test('without Sluice, requests pass; with it again, limits hold again', async () => {
  await reset('/orders/again')
  await service.stop()
  for (let i = 0; i < 5; i++) expect((await fetch(`${url}/orders/again`)).status).toBe(200)
  const { port } = new URL(service.url)
  service.args = [...service.args, '--listen', port]
  await service.start()
  await expect.poll(async () => (await fetch(`${url}/orders/again`)).status, { timeout: 15_000, interval: 100 }).toBe(429)
})
