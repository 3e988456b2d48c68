// The frameworks' own types fit without a cast, though none of them is imported by the library. What is wrong here does not
// compile; the tests that run only see that the frameworks take what they are given.

import type { Server } from 'node:http'
import { createServer } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import type { CanActivate, ExecutionContext } from '@nestjs/common'
import { UseGuards } from '@nestjs/common'
import express, { type Request as ExpressRequest, Router } from 'express'
import fastify, { type FastifyRequest } from 'fastify'
import { type Context, Hono } from 'hono'
import Koa from 'koa'
import { expectTypeOf, test } from 'vitest'
import { createLimiter } from '../../src/create-limiter.ts'
import { expressLimiter } from '../../src/middleware/express.ts'
import { type FastifyRouteOptions, fastifyLimiter } from '../../src/middleware/fastify.ts'
import { fetchLimiter } from '../../src/middleware/fetch.ts'
import { honoLimiter } from '../../src/middleware/hono.ts'
import { koaLimiter } from '../../src/middleware/koa.ts'
import { nestLimiter, RateLimit } from '../../src/middleware/nest.ts'
import { nodeLimiter } from '../../src/middleware/node.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    sluice?: FastifyRouteOptions
  }
}

const rules = '5/minute'

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
  void (() => nodeLimiter({ rules, charge: (status) => status }))
})
