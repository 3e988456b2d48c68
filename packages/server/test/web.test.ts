// The web side over real sockets: signing in and out, sessions, and the pages with their headers.

import { expect, test } from 'vitest'
import { buildDashboard } from '../../../scripts/build-dashboard.mjs'
import { advance, startService, type TestService } from './running-service.ts'

const SAME_SITE = { 'sec-fetch-site': 'same-origin' }

/** Calls the service like a browser: with a cookie and without a key. */
async function callAsPage(
  service: TestService,
  cookie: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = SAME_SITE,
) {
  const response = await fetch(`${service.adminAddress}${path}`, {
    method,
    headers: { cookie, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: await response.json(), cookie: response.headers.get('set-cookie') }
}

async function signIn(service: TestService, key = service.key): Promise<string> {
  const { status, headers } = await service.call('POST', '/v1/session', undefined, { 'api-key': key })
  expect(status).toBe(200)
  return headers.get('set-cookie')?.split(';')[0] ?? ''
}

async function keyWith(service: TestService, scope: string): Promise<string> {
  const { body } = await service.call('POST', '/v1/keys', { name: scope, scopes: [scope] })
  return body.data.secret
}

test('a session may do what its key may do, until it ends', async () => {
  const service = await startService()
  const cookie = await signIn(service)
  const asked = await callAsPage(service, cookie, 'GET', '/v1/session')
  expect(asked.body.data).toMatchObject({ key: { name: 'first-admin', scopes: ['admin'] }, keys_required: true })
  expect((await callAsPage(service, cookie, 'PUT', '/v1/policies/orders', { route: '/orders', rules: '5/minute' })).status).toBe(
    201,
  )
  const ended = await callAsPage(service, cookie, 'DELETE', '/v1/session')
  expect(ended.cookie).toMatch(/Max-Age=0/)
  expect((await callAsPage(service, cookie, 'GET', '/v1/policies')).status).toBe(401)
  expect((await callAsPage(service, cookie, 'GET', '/v1/session')).body.data.key).toBeNull()
})

test('a read key can sign in and read, but not change anything; a check key cannot sign in', async () => {
  const service = await startService()
  const cookie = await signIn(service, await keyWith(service, 'read'))
  expect((await callAsPage(service, cookie, 'GET', '/v1/stats')).status).toBe(200)
  expect((await callAsPage(service, cookie, 'GET', '/v1/status')).status).toBe(200)
  expect((await callAsPage(service, cookie, 'POST', '/v1/reset', { client_id: 'a', route: '/' })).status).toBe(403)
  expect((await callAsPage(service, cookie, 'GET', '/v1/keys')).status).toBe(403)
  const refused = await service.call('POST', '/v1/session', undefined, { 'api-key': await keyWith(service, 'check') })
  expect(refused.status).toBe(403)
  expect(refused.headers.get('set-cookie')).toBeNull()
})

test('a session of a revoked key has ended', async () => {
  const service = await startService()
  const cookie = await signIn(service, await keyWith(service, 'read'))
  const { body } = await service.call('GET', '/v1/keys')
  const { id } = body.data.keys.find(({ name }: { name: string }) => name === 'read')
  await service.call('DELETE', `/v1/keys/${id}`)
  expect((await callAsPage(service, cookie, 'GET', '/v1/stats')).status).toBe(401)
})

test('another site cannot make a browser use the session', async () => {
  const service = await startService()
  const cookie = await signIn(service)
  const reset = { client_id: 'ada', route: '/' }
  expect((await callAsPage(service, cookie, 'POST', '/v1/reset', reset, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
  expect((await callAsPage(service, cookie, 'POST', '/v1/reset', reset, { origin: 'https://elsewhere.example' })).status).toBe(
    403,
  )
  expect((await callAsPage(service, cookie, 'POST', '/v1/reset', reset, {})).status).toBe(403)
  expect((await callAsPage(service, cookie, 'DELETE', '/v1/session', undefined, { 'sec-fetch-site': 'cross-site' })).status).toBe(
    403,
  )
  expect((await callAsPage(service, cookie, 'POST', '/v1/reset', reset)).status).toBe(200)
})

test('a session cannot create sessions, so the maximum of twelve hours and signing out hold', async () => {
  const service = await startService()
  const cookie = await signIn(service)
  const minted = await callAsPage(service, cookie, 'POST', '/v1/session')
  expect([minted.status, minted.cookie]).toEqual([401, null])
  for (let minutes = 0; minutes <= 720; minutes += 20) {
    expect((await callAsPage(service, cookie, 'GET', '/v1/stats')).status).toBe(200)
    advance(20 * 60_000)
  }
  expect((await callAsPage(service, cookie, 'GET', '/v1/stats')).status).toBe(401)
})

test.each([
  ['signing out', (service: TestService, cookie: string) => callAsPage(service, cookie, 'DELETE', '/v1/session')],
  ['half an hour without use', async () => advance(30 * 60_000 + 1)],
])('a stream of events ends with its session: %s', async (_how, end) => {
  const service = await startService()
  const cookie = await signIn(service)
  const headers = { cookie, ...SAME_SITE }
  const stream = await fetch(`${service.adminAddress}/v1/events`, { headers })
  expect(stream.status).toBe(200)
  await end(service, cookie)
  // Otherwise the stream would never end, and the test would time out.
  expect(await stream.text()).toContain('nothing was denied yet')
  expect((await fetch(`${service.adminAddress}/v1/events`, { headers })).status).toBe(401)
})

test('sign-ins are limited for each key, end no session of others, and displace no change in the audit log', async () => {
  const service = await startService()
  const cookie = await signIn(service)
  const read = await keyWith(service, 'read')
  const statuses: number[] = []
  for (let round = 0; round < 3; round++) {
    const tries = Array.from({ length: 100 }, () => service.call('POST', '/v1/session', undefined, { 'api-key': read }))
    const answers = await Promise.all(tries)
    statuses.push(...answers.map(({ status }) => status))
    const limited = answers.find(({ status }) => status === 429)
    expect(limited?.body.meta.error).toBe('ERR_SIGN_IN_LIMITED')
    expect(Number(limited?.headers.get('retry-after'))).toBeGreaterThan(0)
    advance(60_000)
  }
  expect(statuses.filter((status) => status === 200)).toHaveLength(30)
  expect((await callAsPage(service, cookie, 'GET', '/v1/stats')).status).toBe(200)
  const actionsOf = async (query: string) =>
    (await service.call('GET', `/v1/audit${query}`)).body.data.entries.map(({ action }: { action: string }) => action)
  expect(await actionsOf('')).toEqual(['key.create', 'key.create'])
  expect(await actionsOf('?of=sign-ins')).toEqual(Array(31).fill('session.start'))
})

test('guessing keys is limited and audited', async () => {
  const service = await startService()
  const tries = []
  for (let i = 0; i < 25; i++)
    tries.push(await service.call('POST', '/v1/session', undefined, { 'api-key': `sluice_guess_${i}` }))
  expect(tries.map(({ status }) => status)).toEqual([...Array(20).fill(401), ...Array(5).fill(429)])
  expect(Number(tries.at(-1)?.headers.get('retry-after'))).toBeGreaterThan(0)
  const { body } = await service.call('GET', '/v1/audit?of=sign-ins')
  const refused = body.data.entries.filter(({ action }: { action: string }) => action === 'session.refuse')
  expect(refused).toHaveLength(10)
  expect(JSON.stringify(body)).not.toContain('sluice_guess')
})

test('a refund on the dashboard is audited, a refund by a program is not', async () => {
  const service = await startService()
  const cookie = await signIn(service)
  await service.call('POST', '/v1/check', { client_id: 'ada', route: '/', cost: 3 })
  await service.call('POST', '/v1/refund', { client_id: 'ada', route: '/' })
  const { body } = await callAsPage(service, cookie, 'POST', '/v1/refund', { client_id: 'ada', route: '/' })
  expect(body.data.used).toBe(1)
  const { entries } = (await service.call('GET', '/v1/audit')).body.data
  expect(entries.filter(({ action }: { action: string }) => action === 'counter.refund')).toMatchObject([
    { target: 'ada /', after: { policy: 'default', cost: 1, used: 1 } },
  ])
})

test('a key without the scope admin cannot fill the audit log with refunds', async () => {
  const service = await startService()
  const { body } = await service.call('POST', '/v1/keys', { name: 'both', scopes: ['check', 'read'] })
  const cookie = await signIn(service, body.data.secret)
  expect((await callAsPage(service, cookie, 'POST', '/v1/refund', { client_id: 'ada', route: '/' })).status).toBe(200)
  const { entries } = (await service.call('GET', '/v1/audit')).body.data
  expect(entries.map(({ action }: { action: string }) => action)).toEqual(['key.create', 'key.create'])
})

test('a service without keys needs no sign-in', async () => {
  const service = await startService({ flags: { keysRequired: 'false' } })
  const { body } = await callAsPage(service, '', 'GET', '/v1/session')
  expect(body.data).toMatchObject({ key: { name: 'anybody', scopes: ['admin'] }, keys_required: false })
})

test('with a separate administration, its listener has the pages, the sessions and the refund, and the other has no page', async () => {
  await buildDashboard()
  const service = await startService({ flags: { adminListen: '127.0.0.1:0' } })
  const cookie = await signIn(service)
  expect((await callAsPage(service, cookie, 'POST', '/v1/refund', { client_id: 'ada', route: '/' })).status).toBe(200)
  expect((await fetch(`${service.adminAddress}/`)).status).toBe(200)
  expect((await fetch(`${service.address}/`)).status).toBe(404)
})

test('the status reports the state of the store', async () => {
  const service = await startService()
  await service.call('POST', '/v1/check', { client_id: 'ada', route: '/' })
  const { body } = await service.call('GET', '/v1/status')
  expect(body.data).toMatchObject({
    state: 'ready',
    policies: 1,
    store: { kind: 'memory', up: true, breaker_open: false, counters: 1, failures: 0 },
    fallback_decisions: 0,
  })
  const { bounds, counts } = body.data.check_seconds
  expect(counts).toHaveLength(bounds.length + 1)
  expect(counts.reduce((sum: number, count: number) => sum + count, 0)).toBe(1)
})

test('the pages have strict headers, and nothing else of the folder is served', async () => {
  await buildDashboard()
  const service = await startService()
  const page = await fetch(`${service.adminAddress}/policies?name=x`)
  const text = await page.text()
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(page.headers.get('cache-control')).toBe('no-cache')
  expect(page.headers.get('content-security-policy')).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  )
  expect(page.headers.get('x-content-type-options')).toBe('nosniff')
  expect(text).not.toMatch(/<script(?![^>]*src=)|<style|style=|onload=/)
  const assets = [...text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path)
  expect(assets.length).toBeGreaterThan(3)
  for (const path of assets) {
    const asset = await fetch(`${service.adminAddress}${path}`)
    expect([path, asset.status]).toEqual([path, 200])
    if (path.startsWith('/assets/')) expect(asset.headers.get('cache-control')).toContain('immutable')
  }
  const styles = await Promise.all(
    assets.filter((path) => path.endsWith('.css')).map(async (path) => (await fetch(`${service.adminAddress}${path}`)).text()),
  )
  const typefaces = [...styles.join().matchAll(/url\((\/assets\/[^)]+\.woff2)\)/g)].map(([, path]) => path)
  expect(typefaces).toHaveLength(4)
  expect(typefaces).toContain(assets.find((path) => path.endsWith('.woff2')))
  for (const path of typefaces) {
    const typeface = await fetch(`${service.adminAddress}${path}`)
    expect(typeface.headers.get('content-type')).toBe('font/woff2')
    expect(typeface.headers.get('cache-control')).toContain('immutable')
    expect(typeface.headers.get('content-encoding')).toBeNull()
    expect(Buffer.from(await typeface.arrayBuffer()).toString('latin1', 0, 4)).toBe('wOF2')
  }
  for (const name of ['inter', 'jetbrains-mono']) {
    const licence = await fetch(`${service.adminAddress}/licences/${name}.txt`)
    expect(licence.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(await licence.text()).toMatch(/^Copyright .*SIL OPEN FONT LICENSE Version 1\.1/s)
  }
  for (const path of ['/.built-from', '/assets', '/assets/', '/..%2findex.js', '/assets/..%2f..%2findex.js', '/nothing']) {
    expect([path, (await fetch(`${service.adminAddress}${path}`)).status]).toEqual([path, 404])
  }
})

test('an unknown address is a page for browsers, and JSON for others', async () => {
  await buildDashboard()
  const service = await startService({ flags: { adminListen: '127.0.0.1:0' } })
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  const ask = async (
    accept: string | undefined,
    { address = service.adminAddress, path = '/polices?x=1', method = 'GET' } = {},
  ) => {
    const response = await fetch(`${address}${path}`, { method, headers: accept === undefined ? {} : { accept } })
    const text = await response.text()
    return { status: response.status, type: response.headers.get('content-type')?.split(';')[0], text, headers: response.headers }
  }
  const page = await ask(browser)
  expect(page).toMatchObject({ status: 404, type: 'text/html' })
  expect(page.text).toContain('There is no such page')
  expect(page.text).not.toContain('polices')
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(page.headers.get('vary')).toBe('accept, accept-encoding')
  expect(await ask(browser, { path: '/v1/polices' })).toMatchObject({ status: 404, type: 'text/html' })
  expect(await ask(browser, { method: 'HEAD' })).toMatchObject({ status: 404, type: 'text/html', text: '' })
  expect(await ask('TEXT/HTML')).toMatchObject({ type: 'text/html' })
  for (const accept of [
    undefined,
    '*/*',
    'application/json',
    'application/json, text/html',
    'text/html;q=0',
    'text/html;q=0.2, application/json',
  ])
    expect([accept, await ask(accept)]).toMatchObject([accept, { status: 404, type: 'application/json' }])
  // The answers of the API itself stay JSON, and so does everything that is served without pages.
  expect(await ask(browser, { path: '/v1/policies' })).toMatchObject({ status: 401, type: 'application/json' })
  expect(await ask(browser, { method: 'POST' })).toMatchObject({ status: 404, type: 'application/json' })
  expect(await ask(browser, { address: service.address })).toMatchObject({ status: 404, type: 'application/json' })
})
