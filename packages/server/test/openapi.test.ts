// openapi.json equals the routes, and answers match it.

import { readFileSync } from 'node:fs'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { expect, test } from 'vitest'
import { describeApi } from '../src/doors/http/openapi.ts'
import { startService } from './running-service.ts'

const committed = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'))

test('openapi.json equals the routes (if not: node packages/server/scripts/write-openapi.mjs)', async () => {
  expect(JSON.parse(JSON.stringify(await describeApi()))).toEqual(committed)
})

test('it is OpenAPI 3.1, every operation has a summary and a tag, and every reference leads somewhere', () => {
  expect(committed.openapi).toBe('3.1.0')
  const tags = committed.tags.map(({ name }: { name: string }) => name)
  const ids: string[] = []
  type Described = { summary: string; tags: string[]; operationId: string; responses: object }
  for (const methods of Object.values<Record<string, Described>>(committed.paths)) {
    for (const { summary, tags: own, operationId, responses } of Object.values(methods)) {
      expect(summary).toBeTruthy()
      expect(tags).toContain(own[0])
      for (const status of ['400', '408', '431', '500']) expect(responses).toHaveProperty(status)
      ids.push(operationId)
    }
  }
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z]+$/)
  const { requestBody } = committed.paths['/v1/records/restore'].post
  expect([requestBody.required, committed.paths['/v1/check'].post.requestBody.required]).toEqual([false, true])
  expect(JSON.stringify(committed)).not.toContain('"x-optional"')
  for (const [name, schema] of Object.entries<object>(committed.components.schemas))
    expect(schema, name).not.toHaveProperty('title')
  expect(committed.servers).toEqual([{ url: '/', description: 'The instance that serves this document.' }])
  const references = [...JSON.stringify(committed).matchAll(/"#\/components\/schemas\/(\w+)"/g)]
  expect(references.length).toBeGreaterThan(20)
  for (const [, name] of references) expect(committed.components.schemas).toHaveProperty(name)
})

test('the service serves it, and a page that shows it', async () => {
  const { call } = await startService()
  expect((await call('GET', '/openapi.json', undefined, { 'api-key': '' })).body).toEqual(committed)
  const { body, headers } = await call('GET', '/docs', undefined, { 'api-key': '' })
  expect(body).toContain('API reference')
  expect(body).not.toMatch(/https?:\/\//)
  expect(headers.get('content-security-policy')).toContain("default-src 'none'")
})

test('answers match their description', async () => {
  const { call } = await startService()
  await call('PUT', '/v1/policies/two', { client: 'ada', rules: ['1/minute', '100/day'], mode: 'shadow' })
  const calls = [
    ['post', '/v1/check', '/v1/check', { client_id: 'bob', route: '/a' }],
    ['post', '/v1/check', '/v1/check', { client_id: 'ada', route: '/a', cost: 2 }],
    ['post', '/v1/check', '/v1/check', { client_id: 'ada' }],
    ['post', '/v1/check/batch', '/v1/check/batch', { checks: [{ client_id: 'ada', route: '/a' }] }],
    ['get', '/v1/usage', '/v1/usage?client_id=ada&route=/a&cost=500', undefined],
    ['post', '/v1/refund', '/v1/refund', { client_id: 'ada', route: '/a' }],
    ['post', '/v1/set', '/v1/set', { client_id: 'ada', route: '/a', used: 3 }],
    ['post', '/v1/reset', '/v1/reset', { client_id: 'ada', route: '/a' }],
    ['get', '/v1/policies', '/v1/policies', undefined],
    ['get', '/v1/policies/{name}', '/v1/policies/two', undefined],
    ['put', '/v1/policies/{name}', '/v1/policies/three', { client: 'eve', rules: '1/s' }],
    ['put', '/v1/policies/{name}', '/v1/policies/four', { client: 'eve', rules: '1/s' }],
    ['delete', '/v1/policies/{name}', '/v1/policies/three', undefined],
    ['get', '/v1/keys', '/v1/keys', undefined],
    ['post', '/v1/keys', '/v1/keys', { name: 'shop', scopes: ['check'] }],
    ['delete', '/v1/keys/{id}', '/v1/keys/nobody', undefined],
    ['get', '/v1/audit', '/v1/audit', undefined],
    ['get', '/v1/stats', '/v1/stats?seconds=2', undefined],
    ['get', '/v1/top', '/v1/top', undefined],
    ['get', '/livez', '/livez', undefined],
    ['get', '/readyz', '/readyz', undefined],
    ['put', '/api/v1/rate/fixed-window/set', '/api/v1/rate/fixed-window/set', { route: '/a', limit: 5, window: 60 }],
    ['post', '/api/v1/rate/fixed-window', '/api/v1/rate/fixed-window', { route: '/a' }],
  ] as const
  for (const [method, path, url, body] of calls) {
    const answer = await call(method.toUpperCase(), url, body, { 'x-client-id': 'ada' })
    const described = committed.paths[path][method].responses[answer.status]
    expect(described, `${method} ${path} ${answer.status}`).toBeDefined()
    const schema = inPlace(described.content['application/json'].schema) as TSchema
    expect(Compile(schema).Errors(answer.body), `${method} ${path}: ${JSON.stringify(answer.body)}`).toEqual([])
  }
})

test('answers about holds match their description', async () => {
  const { call } = await startService()
  const rules = [
    { algorithm: 'fixed-window', limit: 10, window: '1m', name: 'tokens' },
    { algorithm: 'concurrency', limit: 9, ttl: '1m', name: 'places' },
  ]
  await call('PUT', '/v1/policies/held', { client: 'ada', rules })
  const expectDescribed = async (method: 'get' | 'post', path: string, body?: object, query = '') => {
    const answer = await call(method.toUpperCase(), path + query, body)
    const described = committed.paths[path][method].responses[answer.status]
    expect(described, `${method} ${path} ${answer.status}`).toBeDefined()
    const schema = inPlace(described.content['application/json'].schema) as TSchema
    expect(Compile(schema).Errors(answer.body), `${method} ${path}: ${JSON.stringify(answer.body)}`).toEqual([])
    return answer.body.data
  }
  const reserve = (tokens: number) =>
    expectDescribed('post', '/v1/reserve', { client_id: 'ada', route: '/a', hold: { tokens }, at_least: 1, ttl: '1m' })
  const { token } = await reserve(4)
  await reserve(11)
  await reserve(-1)
  await expectDescribed('post', '/v1/extend', { token, ttl: 5000 })
  await expectDescribed('post', '/v1/settle', { token, used: { tokens: 1 } })
  await expectDescribed('post', '/v1/cancel', { token })
  await expectDescribed('post', '/v1/cancel', { token: 'x' })
  await expectDescribed('post', '/v1/cancel', { token: (await reserve(2)).token })
  await expectDescribed('post', '/v1/check', { client_id: 'ada', route: '/a' })
  await expectDescribed('post', '/v1/check/batch', { checks: [{ client_id: 'ada', route: '/a' }] })
  await reserve(2)
  await expectDescribed('get', '/v1/usage', undefined, '?client_id=ada&route=/a')
  const { holds } = await expectDescribed('get', '/v1/holds', undefined, '?client_id=ada')
  await expectDescribed('post', '/v1/holds/cancel', { id: holds[0].id })
  await expectDescribed('post', '/v1/holds/cancel', { id: holds[0].id })
})

test.each([
  ['&deny_status=403', 403],
  ['', 429],
  ['&deny_status=503', 503],
])('a denial of /v1/authorize%s has status %d and no body, and is described so', async (query, status) => {
  const { call } = await startService()
  const denied = await call('GET', `/v1/authorize?client=ada&route=/a&cost=101${query}`)
  expect([denied.status, denied.body]).toEqual([status, ''])
  expect(committed.paths['/v1/authorize'].get.responses[status].description).toMatch(/^Denied\b.*: no body\. Or .*: JSON\.$/)
})

test('a refusal of /v1/authorize has the status of a denial and a body, and matches its description', async () => {
  const { call } = await startService()
  const made = await call('POST', '/v1/keys', { name: 'reader', scopes: ['read'] })
  const refused = [await call('GET', '/v1/authorize?client=ada&route=/a', undefined, { 'api-key': made.body.data.secret })]
  for (let i = 0; i < 21; i++) refused.push(await call('GET', '/v1/authorize', undefined, { 'api-key': 'wrong' }))
  expect([refused[0].status, refused.at(-1)?.status]).toEqual([403, 429])
  for (const { status, body } of refused) {
    const { content } = committed.paths['/v1/authorize'].get.responses[status]
    expect(Compile(inPlace(content['application/json'].schema) as TSchema).Errors(body)).toEqual([])
  }
})

test('events match their description', async () => {
  const service = await startService()
  await service.call('PUT', '/v1/policies/none', { route: '/none', rules: '1/hour' })
  for (let i = 0; i < 2; i++) await service.call('POST', '/v1/check', { client_id: 'ada', route: '/none' })
  const forwarded = { 'x-forwarded-for': '203.0.113.7', 'x-forwarded-uri': '/a' }
  await service.call('GET', '/v1/authorize?cost=101', undefined, forwarded)
  const { content } = committed.paths['/v1/events'].get.responses[200]
  const schema = inPlace(content['text/event-stream'].schema['x-events'].check) as TSchema
  const stream = await fetch(`${service.address}/v1/events`, { headers: { 'api-key': service.key } })
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
  const { value = '' } = (await reader?.read()) ?? {}
  await reader?.cancel()
  const events = [...value.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data))
  expect(events).toMatchObject([{ route: '/none' }, { route: '/a', counted_route: '*', retry_after_ms: null }])
  const known = Object.keys((schema as unknown as { properties: object }).properties)
  for (const event of events) {
    expect(Compile(schema).Errors(event)).toEqual([])
    for (const name of Object.keys(event)) expect(known).toContain(name)
  }
})

/** Replaces references in a schema. */
function inPlace(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inPlace)
  if (value === null || typeof value !== 'object') return value
  const { $ref } = value as { $ref?: string }
  if ($ref !== undefined) return inPlace(committed.components.schemas[$ref.split('/').at(-1) as string])
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inPlace(inner)]))
}
