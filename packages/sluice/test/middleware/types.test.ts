// The frameworks' own types fit without a cast, though the library imports none of them. A mistake here does not
// compile. The tests that run only check that the frameworks accept the middleware.

import type { Server } from 'node:http'
import { createServer } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import type { CanActivate, ExecutionContext } from '@nestjs/common'
import { UseGuards } from '@nestjs/common'
import express, { type Request as ExpressRequest, Router } from 'express'
import fastify, { type FastifyRequest } from 'fastify'
import { type Context, Hono } from 'hono'
import Koa from 'koa'
import { describe, expectTypeOf, test } from 'vitest'
import { fixedWindow } from '../../src/algorithms/fixed-window/fixed-window.ts'
import { parseRule } from '../../src/algorithms/parse-rule.ts'
import { createLimiter } from '../../src/create-limiter.ts'
import { retryHints } from '../../src/http/retry-hints.ts'
import { anthropicStyle, openaiStyle } from '../../src/http/vendor-styles.ts'
import { expressLimiter } from '../../src/middleware/express.ts'
import { type FastifyLimiterOptions, type FastifyRouteOptions, fastifyLimiter } from '../../src/middleware/fastify.ts'
import { fetchLimiter } from '../../src/middleware/fetch.ts'
import { honoLimiter } from '../../src/middleware/hono.ts'
import { koaLimiter } from '../../src/middleware/koa.ts'
import { nestLimiter, RateLimit } from '../../src/middleware/nest.ts'
import { nodeLimiter } from '../../src/middleware/node.ts'
import { chargeByResponse, rulesByRequest } from '../../src/middleware/requests.ts'
import { reserving } from '../../src/middleware/reserving.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    sluice?: FastifyRouteOptions
  }
}

const rules = parseRule('5/minute')

const plain = fixedWindow({ limit: 5, window: '1m' })
const perUser = fixedWindow({ limit: 5, window: '1m', name: 'requests', per: 'user' })
const perOrg = fixedWindow({ limit: 9, window: '1m', name: 'tokens', per: ['org'] })
const perNothing = fixedWindow({ limit: 99, window: '1m', name: 'everybody', per: [] })

test('styles and hints, in every door', async () => {
  const hints = retryHints({ milliseconds: true, shouldRetry: true, problemType: 'https://example.com/problems/spent' })
  const named = fixedWindow({ limit: 5, window: '1m', name: 'requests' })
  const options = { rules: named, retryWithinMs: 1000, headers: ['draft-11', openaiStyle, anthropicStyle, hints] } as const
  expressLimiter(options)
  honoLimiter(options)
  koaLimiter(options)
  fetchLimiter(options)
  nodeLimiter(options)
  nestLimiter(options)
  const app = fastify()
  await app.register(fastifyLimiter, options)
  await app.close()
  RateLimit({ retryWithinMs: 1000, headers: hints })
  // @ts-expect-error: there is no such draft.
  void (() => fetchLimiter({ rules: named, headers: 'draft-12' }))
  // @ts-expect-error: a duration in words is not a number.
  void (() => fetchLimiter({ rules: named, retryWithinMs: '1h' }))
  // @ts-expect-error: hints have no such option.
  void (() => retryHints({ seconds: true }))
})

test('Express', () => {
  const app = express()
  app.use(expressLimiter({ rules }))
  app.use(expressLimiter({ rules, key: (req) => req.path, cost: (req) => req.method.length }))
  app.use(expressLimiter({ rules, key: (req: ExpressRequest) => req.ip ?? '' }))
  app.use('/api', expressLimiter({ limiter: createLimiter({ rules }), skip: (req: ExpressRequest) => req.get('x') === 'y' }))
  app.post('/login', expressLimiter({ rules, key: (req: ExpressRequest) => req.body.user }), (_req, res) => void res.send())
  Router().use(expressLimiter({ rules, onDenied: ({ request, denial }) => ({ body: `${request.path} ${denial.status}` }) }))
})

test('Fastify', async () => {
  const app = fastify()
  await app.register(fastifyLimiter, { rules })
  await app.register(fastifyLimiter, { rules, hook: 'preHandler', key: (request) => request.ip })
  await app.register(fastifyLimiter, { rules, key: (request: FastifyRequest) => request.hostname })
  app.get('/', { config: { sluice: { cost: 2 } } }, () => '')
  app.get('/free', { config: { sluice: false } }, () => '')
  // @ts-expect-error: there is no such hook.
  void (() => app.register(fastifyLimiter, { rules, hook: 'onSend' }))
  await app.close()
})

test('Hono', () => {
  type Env = { Variables: { user: string } }
  const app = new Hono<Env>()
  app.use(honoLimiter({ rules }))
  app.use('*', honoLimiter({ rules, key: (c) => c.req.header('x-user') ?? '' }))
  app.get('/me', honoLimiter({ rules, key: (c: Context<Env>) => c.get('user') }), (c) => c.text(''))
  new Hono().get('/', honoLimiter({ rules }), (c) => c.json({}))
})

test('Koa', () => {
  const app = new Koa<{ user: string }>()
  app.use(koaLimiter({ rules }))
  app.use(koaLimiter({ rules, key: (ctx) => ctx.path }))
  app.use(koaLimiter({ rules, key: (ctx: Koa.ParameterizedContext<{ user: string }>) => ctx.state.user }))
})

test('node:http and node:http2', () => {
  const limit = nodeLimiter({ rules })
  const server: Server = createServer((request, response) => limit(request, response, (error) => response.end(String(error))))
  createHttp2Server((request, response) => limit(request, response, () => response.end()))
  server.close()
})

test('fetch handlers of any runtime', () => {
  const limit = fetchLimiter({ rules })
  const deno = limit((_request: Request, info: { remoteAddr: { hostname: string } }) => new Response(info.remoteAddr.hostname))
  expectTypeOf(deno).parameters.toEqualTypeOf<[Request, { remoteAddr: { hostname: string } }]>()
  expectTypeOf(deno).returns.toEqualTypeOf<Response | Promise<Response>>()
  interface NextRequest extends Request {
    readonly nextUrl: URL
  }
  const next = fetchLimiter<NextRequest>({ rules, key: (request) => request.nextUrl.pathname })
  const GET = next(async (_request: NextRequest, { params }: { params: Promise<{ id: string }> }) => {
    return new Response((await params).id)
  })
  expectTypeOf(GET).parameter(0).toEqualTypeOf<NextRequest>()
  // @ts-expect-error: a handler answers with a Response.
  void (() => limit((_request: Request) => 'hello'))
})

test('Nest', () => {
  const guard = nestLimiter({ rules })
  expectTypeOf(guard).toExtend<CanActivate>()
  expectTypeOf<ExecutionContext>().toExtend<Parameters<typeof guard.canActivate>[0]>()
  class Controller {
    handler(): void {}
  }
  UseGuards(guard)(Controller)
  const method: MethodDecorator = RateLimit({ cost: 5 })
  const controller: ClassDecorator = RateLimit(false)
  method(Controller.prototype, 'handler', Object.getOwnPropertyDescriptor(Controller.prototype, 'handler') as PropertyDescriptor)
  controller(Controller)
})

test('options that do not belong together are found by the compiler where they can be', () => {
  // @ts-expect-error: a typing error.
  void (() => expressLimiter({ rules, onDeny: () => {} }))
  // @ts-expect-error: no such mode.
  void (() => koaLimiter({ rules, mode: 'dry' }))
  // @ts-expect-error: a status is not a boolean.
  void (() => nodeLimiter({ rules, charge: chargeByResponse((status) => status) }))
})

test('callbacks of sluice/requests take the request of any framework, or of the one that they name', () => {
  expressLimiter({ rules: rulesByRequest((req) => (req.path === '/' ? rules : [rules])) })
  expressLimiter({ rules, charge: chargeByResponse((status, req: ExpressRequest) => status > 400 && req.path === '/') })
  honoLimiter({ rules: rulesByRequest((c: Context) => (c.req.path === '/' ? rules : [rules])) })
  fastify().register(fastifyLimiter, {
    rules: rulesByRequest((request: FastifyRequest) => (request.url === '/' ? rules : [rules])),
  })
  // @ts-expect-error: a string is no rule.
  void (() => expressLimiter({ rules: rulesByRequest(() => '5/minute') }))
})

describe('the key', () => {
  test('is a string for rules without per', () => {
    expressLimiter({ rules: plain, key: () => 'ada', onDenied: ({ key }) => void key?.toUpperCase() })
    expressLimiter({ rules: plain, key: async () => 'ada' })
    expressLimiter({ rules: [plain], onDecision: ({ key }) => void key.toUpperCase() })
    // @ts-expect-error: not an object.
    expressLimiter({ rules: plain, key: () => ({ user: 'ada' }) })
    // @ts-expect-error: not a number.
    expressLimiter({ rules: plain, key: () => 5 })
  })

  test('is an object with exactly the names that the rules use', () => {
    expressLimiter({ rules: perUser, key: () => ({ user: 'ada' }) })
    expressLimiter({ rules: [perUser, perOrg, perNothing], key: () => ({ user: 'ada', org: 'acme' }) })
    expressLimiter({ rules: [perUser, perOrg], key: async (req) => ({ user: req.path, org: 'acme' }) })
    expressLimiter({ rules: [perUser, perOrg], key: (req: ExpressRequest) => ({ user: req.ip ?? '', org: 'acme' }) })
    expressLimiter({ rules: rulesByRequest(() => [perUser, perOrg]), key: () => ({ user: 'ada', org: 'acme' }) })
    expressLimiter({ rules: rulesByRequest(async () => perUser), key: () => ({ user: 'ada' }) })
    expressLimiter({ rules: perNothing })
    // @ts-expect-error: Property 'org' is missing.
    expressLimiter({ rules: [perUser, perOrg], key: () => ({ user: 'ada' }) })
    // @ts-expect-error: Property 'org' is missing.
    expressLimiter({ rules: rulesByRequest(() => [perUser, perOrg]), key: async () => ({ user: 'ada' }) })
    // @ts-expect-error: not a string.
    expressLimiter({ rules: perUser, key: () => 'ada' })
    // @ts-expect-error: a value that is no string.
    expressLimiter({ rules: perUser, key: () => ({ user: 5 }) })
  })

  test('is that of a limiter that was made elsewhere', () => {
    const limiter = createLimiter({ rules: [perUser, perOrg] })
    koaLimiter({ limiter, key: () => ({ user: 'ada', org: 'acme' }) })
    koaLimiter({ limiter: createLimiter({ rules: plain }), key: () => 'ada' })
    // @ts-expect-error: Property 'org' is missing.
    koaLimiter({ limiter, key: () => ({ user: 'ada' }) })
    // @ts-expect-error: not an object.
    koaLimiter({ limiter: createLimiter({ rules: plain }), key: () => ({ user: 'ada' }) })
  })

  test('comes back to callbacks with its names', () => {
    honoLimiter({
      rules: [perUser, perOrg],
      key: () => ({ user: 'ada', org: 'acme' }),
      onDecision: ({ key }) => expectTypeOf(key).toEqualTypeOf<{ readonly user: string; readonly org: string }>(),
    })
  })

  test('is checked in every door', () => {
    // @ts-expect-error: Property 'user' is missing.
    fetchLimiter({ rules: perUser, key: () => ({}) })
    // @ts-expect-error: Property 'user' is missing.
    honoLimiter({ rules: perUser, key: () => ({}) })
    // @ts-expect-error: Property 'user' is missing.
    koaLimiter({ rules: perUser, key: () => ({}) })
    // @ts-expect-error: Property 'user' is missing.
    nodeLimiter({ rules: perUser, key: () => ({}) })
    // @ts-expect-error: Property 'user' is missing.
    nestLimiter({ rules: perUser, key: () => ({}) })
    // @ts-expect-error: Property 'user' is missing. `register` needs the type of the rule.
    void ({ rules: perUser, key: () => ({}) } satisfies FastifyLimiterOptions<typeof perUser>)
  })
})

test('held units may depend on the request, by its own type', () => {
  const reserve = reserving({ hold: 2 })
  expressLimiter({ rules, reserve: reserving({ hold: (req: ExpressRequest) => req.body.units, used: ({ status }) => status }) })
  expressLimiter({ rules, reserve: reserving<ExpressRequest>({ hold: 5, used: ({ request }) => request.ips.length }) })
  honoLimiter({ rules, reserve: reserving({ hold: async (c: Context) => (await c.req.json()).units }) })
  koaLimiter({ rules, reserve: reserving({ hold: (ctx: Koa.Context) => ctx.length }) })
  fetchLimiter({
    rules,
    reserve: reserving({ hold: (request: Request) => request.url.length, count: () => (chunk) => chunk.length }),
  })
  nodeLimiter({ rules, reserve })
  nestLimiter({ rules, reserve })
  void ({ rules, reserve } satisfies FastifyLimiterOptions)
  // @ts-expect-error: units that are a text.
  void (() => reserving({ hold: () => 'many' }))
})

test('costs may be given by rule', () => {
  expressLimiter({ rules: perUser, cost: { requests: 2 }, key: () => ({ user: 'ada' }) })
  expressLimiter({ rules, cost: async (req) => ({ 'fixed-window:5/1m': req.path.length }) })
  // @ts-expect-error: a cost that is a text.
  void (() => expressLimiter({ rules, cost: { requests: '2' } }))
})
