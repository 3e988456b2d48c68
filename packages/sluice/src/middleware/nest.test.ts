import 'reflect-metadata'
import { Controller, Get, HttpException, Module, UseGuards } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import fastify from 'fastify'
import { expect, test } from 'vitest'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import { parseRule } from '../algorithms/parse-rule.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import type { GateOptions } from './gate/options.ts'
import { type NestGuard, type NestRequest, nestLimiter, RateLimit } from './nest.ts'
import { chargeByResponse } from './requests.ts'

const rule = (name: string, limit: number) => fixedWindow({ limit, window: '1m', name })

const usual = (): GateOptions<NestRequest> => ({ rules: rule('all', 3), store: memoryStore({ clock: fakeClock() }) })

type Decorator = (target: object, name: string, descriptor: PropertyDescriptor) => unknown

/** The output of TypeScript for a controller with decorated methods. Each method returns its name. */
function controller(path: string, methods: Readonly<Record<string, readonly Decorator[]>>, ...ofClass: ClassDecorator[]) {
  class Made {}
  for (const [name, decorators] of Object.entries(methods)) {
    const descriptor = { value: () => name, writable: true, configurable: true }
    Object.defineProperty(Made.prototype, name, descriptor)
    for (const decorate of [Get(name), ...decorators]) decorate(Made.prototype, name, descriptor)
  }
  for (const decorate of [Controller(path), ...ofClass]) decorate(Made)
  return Made
}

async function serve(controllers: ReturnType<typeof controller>[], ...guards: NestGuard[]) {
  class Root {}
  Module({ controllers })(Root)
  const app = await NestFactory.create(Root, { logger: false })
  app.useGlobalGuards(...guards)
  await app.listen(0, '127.0.0.1')
  const { port } = app.getHttpServer().address()
  const field = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } })
    return response.ok ? response.headers.get('RateLimit') : response.status
  }
  return { app, field }
}

test('a guard limits all routes; a route may cost more, count by itself, or be free', async () => {
  const routes = controller('', {
    plain: [],
    dear: [RateLimit({ cost: 2 })],
    own: [RateLimit({ rules: rule('own', 9) })],
    free: [RateLimit(false)],
  })
  const { app, field } = await serve([routes], nestLimiter(usual()))
  expect(await field('/dear')).toBe('"all";r=1;t=60')
  expect(await field('/own')).toBe('"own";r=8;t=60')
  expect(await field('/free')).toBeNull()
  expect(await field('/plain')).toBe('"all";r=0;t=60')
  expect(await field('/plain')).toBe(429)
  await app.close()
})

test('options of a controller hold for all its methods, and a method can change them', async () => {
  const routes = controller('', { free: [], dear: [RateLimit({ cost: 3 })] }, RateLimit(false) as ClassDecorator)
  const { app, field } = await serve([routes], nestLimiter(usual()))
  expect(await field('/free')).toBeNull()
  expect(await field('/dear')).toBe('"all";r=0;t=60')
  await app.close()
})

test('a guard of one controller limits that one', async () => {
  const limited = controller('limited', { a: [] }, UseGuards(nestLimiter(usual())))
  const { app, field } = await serve([limited, controller('others', { a: [] })])
  expect(await field('/limited/a')).toBe('"all";r=2;t=60')
  expect(await field('/others/a')).toBeNull()
  await app.close()
})

test('onDenied can raise an exception of Nest’s own', async () => {
  const guard = nestLimiter({
    rules: parseRule('1/minute'),
    onDenied: ({ denial }) => {
      throw new HttpException('later', denial.status)
    },
  })
  const { app } = await serve([controller('', { a: [] })], guard)
  const url = `http://127.0.0.1:${app.getHttpServer().address().port}/a`
  await fetch(url)
  const response = await fetch(url)
  expect([response.status, await response.json()]).toEqual([429, { statusCode: 429, message: 'later' }])
  await app.close()
})

test('what is not HTTP passes', () => {
  const context = { getType: () => 'rpc', getClass: () => Object, getHandler: () => () => {} }
  expect(nestLimiter(usual()).canActivate(context as never)).toBe(true)
})

test('on Fastify the guard writes to the reply', async () => {
  const guard = nestLimiter({ ...usual(), charge: chargeByResponse('failed-response') })
  const app = fastify()
  app.get('/:status', async (request, reply) => {
    const context = {
      getType: () => 'http',
      getClass: () => Object,
      getHandler: () => Object,
      getArgByIndex: (index: number) => [request, reply][index],
    }
    await guard.canActivate(context)
    return reply.code(Number((request.params as { status: string }).status)).send('done')
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as { port: number }
  const ask = async (status: number) => {
    const response = await fetch(`http://127.0.0.1:${port}/${status}`, { headers: { connection: 'close' } })
    return [
      response.status,
      response.headers.get('RateLimit'),
      response.headers.get('Retry-After'),
      (await response.text()).slice(0, 8),
    ]
  }
  expect(await ask(200)).toEqual([200, '"all";r=2;t=60', null, 'done'])
  for (const left of [2, 1, 0]) expect(await ask(404)).toEqual([404, `"all";r=${left};t=60`, null, 'done'])
  expect(await ask(200)).toEqual([429, '"all";r=0;t=60', '60', '{"type":'])
  await app.close()
})

test.each([undefined, true, null, 0])('@RateLimit(%j) is refused when it is applied', (route) => {
  expect(() => RateLimit(route as never)(class {})).toThrow('RateLimit takes an object of options for a route, or false')
})
