// The HTTP side of the service: Fastify with the routes of one or both planes, strict about time, size and form.
// What must stay true: what every check runs stays lean. No logger for each request, no hook that the route does not need.

import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerOptions as TlsOptions } from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import fastify from 'fastify'
import type { Logger } from 'pino'
import type { Service } from '../service.ts'
import { BuiltPages } from '../web/page-routes.ts'
import { Authentication } from './authentication.ts'
import { CheckDoor, isCheck } from './check-door.ts'
import { answerErrors, sendError } from './error-answers.ts'
import { httpServer, UnderWay } from './http-server.ts'
import { parseJson } from './json-body.ts'
import { ListenerDrain } from './listener-drain.ts'
import { parseQuery } from './query-text.ts'
import type { App, RouteContext } from './route-options.ts'
import { auditRoute } from './routes/audit-route.ts'
import { authorizeRoute } from './routes/authorize-route.ts'
import { checkRoutes } from './routes/check-routes.ts'
import { counterRoutes, refundRoute } from './routes/counter-routes.ts'
import { documentRoutes } from './routes/document-routes.ts'
import { eventsRoute } from './routes/events-route.ts'
import { fixedWindowSetRoute } from './routes/fixed-window-set-route.ts'
import { keyRoutes } from './routes/key-routes.ts'
import { healthRoutes, metricsRoute } from './routes/operation-routes.ts'
import { policyRoutes } from './routes/policy-routes.ts'
import { recordsRoutes } from './routes/records-routes.ts'
import { sessionRoutes } from './routes/session-routes.ts'
import { statsRoutes } from './routes/stats-routes.ts'
import { statusRoute } from './routes/status-route.ts'
import { validatorCompiler } from './validation.ts'

/** What a listener serves: deciding, or everything else, or both. Health is everywhere. */
export type Plane = 'deciding' | 'administration'

export interface AppOptions {
  readonly service: Service
  readonly planes: readonly Plane[]
  readonly tls?: TlsOptions | undefined
  /** Called before the routes are made. */
  readonly before?: (app: App) => void
}

const BODY_BYTES = 16 * 1024

export interface CloseOptions {
  /** The drain delay, on which the steps of listener-drain.ts depend. */
  readonly delayMs: number
  readonly withinMs: number
}

export interface BuiltApp {
  readonly app: App
  /** From now on each answer ends its connection. */
  tellToLeave(): void
  /** Stops listening, answers requests that are under way, for at most `withinMs`, and ends all connections. */
  close(options: CloseOptions): Promise<void>
}

export function buildApp({ service, planes, tls, before }: AppOptions): BuiltApp {
  const underWay = new UnderWay()
  const drain = new ListenerDrain()
  const isLogging = service.logger.isLevelEnabled('debug')
  const authentication = new Authentication(service)
  const door = planes.includes('deciding') ? new CheckDoor(service, authentication, BODY_BYTES) : undefined
  const app = fastify({
    serverFactory: (route) => {
      const server = httpServer((request, response) => {
        if (drain.hasBegun && !drain.takes(request, response)) return
        underWay.begin(response)
        if (isLogging) logWhenDone(service.logger, request, response)
        if (door !== undefined && isCheck(request)) door.answer(request, response)
        else route(request, response)
      }, tls)
      drain.add(server)
      return server
    },
    logger: false,
    bodyLimit: BODY_BYTES,
    genReqId: requestIds(),
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // http-server.ts answers these. Fastify's own handler would end the connection before.
    clientErrorHandler: () => {},
    routerOptions: { maxParamLength: 256, querystringParser: parseQuery },
    frameworkErrors: (error, _request, reply) => sendError(reply, error, service.logger, 'a path'),
  }) as unknown as App
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, parseJson(body as unknown as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })
  app.setValidatorCompiler(validatorCompiler as never)
  app.setSerializerCompiler(() => JSON.stringify)
  app.decorateRequest('apiKey')
  const pages = planes.includes('administration') ? new BuiltPages() : undefined
  answerErrors(app as never, service.logger, pages)
  before?.(app)
  addRoutes(app, { service, authentication }, planes, pages)
  return { app, tellToLeave: () => drain.tell(), close: (options) => close(app, drain, underWay, options) }
}

async function close(app: App, drain: ListenerDrain, underWay: UnderWay, { delayMs, withinMs }: CloseOptions): Promise<void> {
  await drain.stopAccepting(delayMs)
  const closed = app.close()
  // Node tells nothing of an answer that waits behind another one when their connection ends. Hence the second condition.
  await Promise.race([underWay.none(), drain.allEnded(), pause(withinMs, undefined, { ref: false })])
  // A server that closes no longer ends connections that are slow.
  drain.closeAllConnections()
  await closed
}

function addRoutes(app: App, context: RouteContext, planes: readonly Plane[], pages: BuiltPages | undefined): void {
  // After what `before` asked for, so that whoever describes the routes sees them.
  app.register((routes, _options, done) => {
    healthRoutes(routes as App, context)
    if (planes.includes('deciding')) {
      checkRoutes(routes as App, context)
      authorizeRoute(routes as App, context)
    }
    refundRoute(routes as App, context)
    if (planes.includes('administration')) {
      for (const add of ADMINISTRATION) add(routes as App, context)
    }
    pages?.addRoutes(routes as never)
    done()
  })
}

const ADMINISTRATION = [
  fixedWindowSetRoute,
  counterRoutes,
  policyRoutes,
  keyRoutes,
  auditRoute,
  recordsRoutes,
  statsRoutes,
  eventsRoute,
  metricsRoute,
  documentRoutes,
  sessionRoutes,
  statusRoute,
]

/** A line for each request, where somebody asked for that much. */
function logWhenDone(logger: Logger, { method, url = '' }: IncomingMessage, response: ServerResponse): void {
  const startMs = performance.now()
  const [path] = url.split('?')
  response.on('close', () => {
    logger.debug({ method, path, status: response.statusCode, tookMs: Math.round(performance.now() - startMs) }, 'answered')
  })
}

/** Ids that differ between instances and starts. */
function requestIds(): () => string {
  const start = randomBytes(6).toString('base64url')
  let count = 0
  return () => {
    count += 1
    return `${start}-${count}`
  }
}
