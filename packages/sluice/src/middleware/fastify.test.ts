import fastify, { type FastifyInstance } from 'fastify'
import { expect, test } from 'vitest'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import { parseRule } from '../algorithms/parse-rule.ts'
import { draft7Style } from '../http/earlier-styles.ts'
import { retryHints } from '../http/retry-hints.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { type FastifyLimiterOptions, type FastifyRouteOptions, fastifyLimiter } from './fastify.ts'

const rule = (name: string, limit: number) => fixedWindow({ limit, window: '1m', name })

const usual = (): FastifyLimiterOptions => ({ rules: rule('all', 3), store: memoryStore({ clock: fakeClock() }) })

const config = (sluice: FastifyRouteOptions) => ({ config: { sluice } })

async function field(app: FastifyInstance, url: string): Promise<unknown> {
  const { headers, statusCode } = await app.inject(url)
  return statusCode < 400 || statusCode === 404 ? headers.ratelimit : statusCode
}

test('limits the instance it is registered on and what is inside of it, and nothing else', async () => {
  const app = fastify()
  app.get('/outside', () => '')
  await app.register(async (child) => {
    child.get('/before', () => '')
    await child.register(fastifyLimiter, usual())
    child.get('/inside', () => '')
    await child.register(async (grandchild) => grandchild.get('/deeper', () => ''))
  })
  expect(await field(app, '/outside')).toBeUndefined()
  expect(await field(app, '/inside')).toBe('"all";r=2;t=60')
  expect(await field(app, '/deeper')).toBe('"all";r=1;t=60')
  expect(await field(app, '/before')).toBe('"all";r=0;t=60')
})

test('what is not found counts too, so that nobody can search for free', async () => {
  const app = fastify()
  await app.register(fastifyLimiter, usual())
  expect(await field(app, '/nowhere')).toBe('"all";r=2;t=60')
})

test('a route may cost more, count by itself, or be free', async () => {
  const app = fastify()
  await app.register(fastifyLimiter, usual())
  app.get('/', () => '')
  app.get('/dear', config({ cost: 2 }), () => '')
  app.get('/own', config({ rules: rule('own', 9) }), () => '')
  app.get('/free', config(false), () => '')
  expect(await field(app, '/dear')).toBe('"all";r=1;t=60')
  expect(await field(app, '/own')).toBe('"own";r=8;t=60')
  expect(await field(app, '/free')).toBeUndefined()
  expect(await field(app, '/')).toBe('"all";r=0;t=60')
  expect(await field(app, '/dear')).toBe(429)
})

test('a route with its own retryWithinMs counts with all others, and only its denials are final', async () => {
  const app = fastify()
  await app.register(fastifyLimiter, { rules: rule('all', 3), headers: retryHints({ shouldRetry: true }) })
  app.get('/', () => '')
  app.get('/batch', config({ retryWithinMs: 1000 }), () => '')
  for (const url of ['/', '/batch', '/']) expect((await app.inject(url)).statusCode).toBe(200)
  const denied = async (url: string) => {
    const { statusCode, headers } = await app.inject(url)
    return [statusCode, headers['retry-after'], headers['x-should-retry']]
  }
  expect(await denied('/')).toEqual([429, '60', undefined])
  expect(await denied('/batch')).toEqual([429, undefined, 'false'])
})

test('a route that changes other options counts with all others, also in a memory store that nobody gave', async () => {
  const app = fastify()
  await app.register(fastifyLimiter, { rules: rule('all', 3) })
  app.get('/', () => '')
  app.get('/dear', config({ cost: 2 }), () => '')
  app.get('/own', config({ rules: rule('all', 9) }), () => '')
  expect(await field(app, '/')).toBe('"all";r=2;t=60')
  expect(await field(app, '/dear')).toBe('"all";r=0;t=60')
  expect(await field(app, '/own')).toBe('"all";r=8;t=60')
})

test('so may one that was made before the limiter was there', async () => {
  const app = fastify()
  app.register(fastifyLimiter, usual())
  app.get('/dear', config({ cost: 2 }), () => '')
  app.get('/free', config(false), () => '')
  expect(await field(app, '/dear')).toBe('"all";r=1;t=60')
  expect(await field(app, '/free')).toBeUndefined()
})

test('a route may have its own headers on the common count', async () => {
  const app = fastify()
  await app.register(fastifyLimiter, usual())
  app.get('/', config({ headers: draft7Style }), () => '')
  expect(await field(app, '/')).toBe('limit=3, remaining=2, reset=60')
})

test('a route with options that cannot work is refused when it is made', async () => {
  const app = fastify()
  await app.register(fastifyLimiter, usual())
  expect(() => app.get('/', config({ cost: -1 }), () => '')).toThrow('cost must be a whole number')
})

test.each([true, null, 0, 'off', []])('a route with %j instead of options is refused when it is made', async (route) => {
  const app = fastify()
  await app.register(fastifyLimiter, usual())
  expect(() => app.get('/', config(route as never), () => '')).toThrow(
    expect.objectContaining({
      code: 'ERR_OPTION',
      option: 'sluice',
      message: expect.stringContaining('fastifyLimiter takes an object of options for a route, or false'),
    }),
  )
})

test('a later hook sees what earlier ones have found out', async () => {
  const app = fastify()
  await app.register(fastifyLimiter, {
    ...usual(),
    hook: 'preHandler',
    key: (request) => (request as unknown as { body: { user: string } }).body.user,
  })
  app.post('/', () => '')
  const login = async (user: string) => (await app.inject({ method: 'POST', url: '/', payload: { user } })).headers.ratelimit
  expect([await login('ada'), await login('ada'), await login('bob')]).toEqual([
    '"all";r=2;t=60',
    '"all";r=1;t=60',
    '"all";r=2;t=60',
  ])
})

test('a hook that is none is refused', async () => {
  await expect(
    fastify().register(fastifyLimiter, { rules: parseRule('1/minute'), hook: 'onSend' as 'onRequest' }),
  ).rejects.toThrow("fastifyLimiter needs hook to be 'onRequest', 'preValidation', 'preHandler', got \"onSend\"")
})

test('fields stay on an error of the handler', async () => {
  const app = fastify()
  await app.register(fastifyLimiter, usual())
  app.get('/', () => {
    throw new Error('oops')
  })
  expect(await app.inject('/')).toMatchObject({ statusCode: 500, headers: { ratelimit: '"all";r=2;t=60' } })
})

test('a callback that fails with nothing lets nobody through', async () => {
  const app = fastify()
  await app.register(fastifyLimiter, { ...usual(), key: () => Promise.reject() })
  app.get('/', () => '')
  expect(await field(app, '/')).toBe(500)
})

test('an answer that cannot be written is an error, also if the decision came late', async () => {
  const app = fastify()
  await app.register(fastifyLimiter, {
    rules: rule('all', 1),
    key: () => Promise.resolve('ada'),
    onDenied: () => ({ status: 9999 }),
  })
  app.get('/', () => '')
  expect([await field(app, '/'), await field(app, '/')]).toEqual(['"all";r=0;t=60', 500])
})
