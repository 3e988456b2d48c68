// Each framework as an application would set it up: limiters in a row, then a handler for everything, and its own error handling.

import 'reflect-metadata'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo, Server } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { All, Controller, Module, Req, Res } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import express from 'express'
// @ts-expect-error: Express 4 under another name comes without types.
import express4 from 'express4'
import fastify, { type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { expressLimiter } from '../../src/middleware/express.ts'
import { fastifyLimiter } from '../../src/middleware/fastify.ts'
import { fetchLimiter } from '../../src/middleware/fetch.ts'
import type { GateOptions } from '../../src/middleware/gate-types.ts'
import { honoLimiter } from '../../src/middleware/hono.ts'
import { koaLimiter } from '../../src/middleware/koa.ts'
import { nestLimiter } from '../../src/middleware/nest.ts'
import { nodeLimiter } from '../../src/middleware/node.ts'

// biome-ignore lint/suspicious/noExplicitAny: the same options go to frameworks with different types of requests.
export type Options = GateOptions<any>

/** What any framework's request can be asked. */
export interface Asked {
  readonly method: string
  readonly path: string
  header(name: string): string | undefined
}

export interface Application {
  /** Limiters in the order in which a request comes to them. The same object twice is one middleware, mounted twice. */
  readonly limiters: readonly Options[]
  /** Answers a request, or throws. */
  handle(asked: Asked): Promise<{ readonly status: number; readonly body: string }>
  /** What the framework's own error handling hears; it then answers 500. */
  onError(error: unknown): void
  readonly http2: boolean
}

export interface Running {
  readonly port: number
  stop(): Promise<void>
}

export interface Framework {
  readonly name: string
  /** Reads what callbacks are given. */
  // biome-ignore lint/suspicious/noExplicitAny: each has its own.
  asked(request: any): Asked
  readonly speaksHttp2: boolean
  /** Whether limiters write into a response that is there: then the inner one writes first. */
  readonly answersWithResponse: boolean
  start(application: Application): Promise<Running>
}

const askedNode = (request: IncomingMessage): Asked => ({
  method: request.method ?? '',
  path: request.url ?? '',
  header: (name) => request.headers[name] as string | undefined,
})

const askedWeb = (request: Request): Asked => ({
  method: request.method,
  path: new URL(request.url).pathname,
  header: (name) => request.headers.get(name) ?? undefined,
})

async function listen(server: Server): Promise<Running> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = async (): Promise<void> => {
    server.close()
    ;(server as { closeAllConnections?(): void }).closeAllConnections?.()
  }
  return { port: (server.address() as AddressInfo).port, stop }
}

function serverOf(listener: (request: IncomingMessage, response: ServerResponse) => void, http2: boolean): Server {
  return http2 ? createHttp2Server(listener as never) : createServer(listener)
}

/** One middleware for each set of options: where the same comes twice, it is the same middleware. */
function madeOnce<M>(make: (options: Options) => M): (options: Options) => M {
  const made = new Map<Options, M>()
  return (options) => {
    const middleware = made.get(options) ?? make(options)
    made.set(options, middleware)
    return middleware
  }
}

export const nodeFramework: Framework = {
  name: 'node',
  asked: askedNode,
  speaksHttp2: true,
  answersWithResponse: false,
  start({ limiters, handle, onError, http2 }) {
    const steps = limiters.map(madeOnce((options) => nodeLimiter(options)))
    const listener = (request: IncomingMessage, response: ServerResponse): void => {
      const fail = (error: unknown): void => {
        onError(error)
        response.statusCode = 500
        response.end('failed')
      }
      const take = (step: number): void => {
        if (step < steps.length) {
          steps[step](request, response, (error) => (error === undefined ? take(step + 1) : fail(error)))
          return
        }
        handle(askedNode(request)).then(({ status, body }) => {
          response.statusCode = status
          response.end(body)
        }, fail)
      }
      take(0)
    }
    return listen(serverOf(listener, http2))
  },
}

function expressFramework(name: string, create: typeof express): Framework {
  return {
    name,
    asked: askedNode,
    speaksHttp2: false,
    answersWithResponse: false,
    start({ limiters, handle, onError }) {
      const app = create()
      for (const limiter of limiters.map(madeOnce((options) => expressLimiter(options)))) app.use(limiter)
      app.use((req, res, next) => {
        handle(askedNode(req)).then(({ status, body }) => res.status(status).send(body), next)
      })
      app.use(((error, _req, res, _next) => {
        onError(error)
        res.status(500).send('failed')
      }) as express.ErrorRequestHandler)
      return listen(createServer(app))
    },
  }
}

export const express5Framework = expressFramework('express 5', express)
export const express4Framework = expressFramework('express 4', express4)

export const fastify5Framework: Framework = {
  name: 'fastify',
  asked: ({ raw }) => askedNode(raw),
  speaksHttp2: true,
  answersWithResponse: false,
  async start({ limiters, handle, onError, http2 }) {
    const app: FastifyInstance = http2 ? (fastify({ http2: true }) as never) : fastify()
    // A plugin that is registered twice with the same limiter is what comes nearest to one that is mounted twice.
    for (const options of limiters) await app.register(fastifyLimiter, options)
    app.setErrorHandler((error, _request, reply) => {
      onError(error)
      reply.code(500).send('failed')
    })
    app.route({
      method: ['GET', 'HEAD', 'POST', 'OPTIONS'],
      url: '*',
      handler: async (request, reply) => {
        const { status, body } = await handle(askedNode(request.raw))
        return reply.code(status).send(body)
      },
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    return {
      port: (app.server.address() as AddressInfo).port,
      async stop() {
        app.server.closeAllConnections?.()
        await app.close()
      },
    }
  },
}

export const koa3Framework: Framework = {
  name: 'koa',
  asked: ({ req }) => askedNode(req),
  speaksHttp2: true,
  answersWithResponse: false,
  start({ limiters, handle, onError, http2 }) {
    const app = new Koa()
    app.on('error', onError)
    for (const limiter of limiters.map(madeOnce((options) => koaLimiter(options)))) app.use(limiter)
    app.use(async (ctx) => {
      const { status, body } = await handle(askedNode(ctx.req))
      ctx.status = status
      ctx.body = body
    })
    return listen(serverOf(app.callback(), http2))
  },
}

export const hono4Framework: Framework = {
  name: 'hono',
  asked: ({ req }) => askedWeb(req.raw),
  speaksHttp2: true,
  answersWithResponse: true,
  start({ limiters, handle, onError, http2 }) {
    const app = new Hono()
    for (const limiter of limiters.map(madeOnce((options) => honoLimiter(options)))) app.use(limiter)
    app.all('*', async (c) => {
      const { status, body } = await handle(askedWeb(c.req.raw))
      return c.body(body, status as 200)
    })
    app.onError((error, c) => {
      onError(error)
      return c.text('failed', 500)
    })
    return listen(serverOf(getRequestListener(app.fetch) as never, http2))
  },
}

export const fetchFramework: Framework = {
  name: 'fetch',
  asked: askedWeb,
  speaksHttp2: true,
  answersWithResponse: true,
  start({ limiters, handle, onError, http2 }) {
    type Handler = (request: Request, env: unknown) => Response | Promise<Response>
    const last: Handler = async (request) => {
      const { status, body } = await handle(askedWeb(request))
      return new Response(body, { status })
    }
    const limits = limiters.map(madeOnce((options) => fetchLimiter(options)))
    const limited = limits.reduceRight<Handler>((inner, limit) => limit(inner), last)
    const handler: Handler = async (request, env) => {
      try {
        return await limited(request, env)
      } catch (error) {
        onError(error)
        return new Response('failed', { status: 500 })
      }
    }
    return listen(serverOf(getRequestListener(handler as never) as never, http2))
  },
}

export const nest11Framework: Framework = {
  name: 'nest',
  asked: askedNode,
  speaksHttp2: false,
  answersWithResponse: false,
  async start({ limiters, handle, onError }) {
    class Everything {
      async answer(req: IncomingMessage, res: { status(code: number): { send(body: string): void } }): Promise<void> {
        const { status, body } = await handle(askedNode(req))
        res.status(status).send(body)
      }
    }
    // What TypeScript makes of decorators.
    const { prototype } = Everything
    All('{*path}')(prototype, 'answer', Object.getOwnPropertyDescriptor(prototype, 'answer') as PropertyDescriptor)
    Req()(prototype, 'answer', 0)
    Res()(prototype, 'answer', 1)
    Controller()(Everything)
    class Root {}
    Module({ controllers: [Everything] })(Root)
    const app = await NestFactory.create(Root, { logger: false })
    app.useGlobalGuards(...limiters.map(madeOnce((options) => nestLimiter(options))))
    app.useGlobalFilters({
      catch(error, host) {
        onError(error)
        host.switchToHttp().getResponse().status(500).send('failed')
      },
    })
    await app.listen(0, '127.0.0.1')
    const server = app.getHttpServer()
    return {
      port: server.address().port,
      async stop() {
        server.closeAllConnections()
        await app.close()
      },
    }
  },
}
