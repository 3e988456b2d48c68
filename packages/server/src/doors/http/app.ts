// The HTTP side of the service: Fastify with the routes of one or both planes, and strict bounds for time, size and form.
// Invariant: the path that every check takes stays short. It has no logger for each request and no hook that its route does not need.

import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerOptions as TlsOptions } from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import fastify from 'fastify'
import type { Logger } from 'pino'
import { LIMITS } from '../../contract/limits.ts'
import type { Service } from '../../service.ts'
import type { CloseOptions, Door } from '../door.ts'
import { Authentication } from './authentication.ts'
import { CheckDoor, isCheck } from './check-door.ts'
import { FastChecks } from './fast-checks/fast-checks.ts'
import { httpServer, OpenRequests } from './http-server.ts'
import { ListenerDrain } from './listener-drain.ts'
import { BuiltPages } from './pages/page-routes.ts'
import { answerErrors, sendError } from './plumbing/error-answers.ts'
import { parseJson } from './plumbing/json-body.ts'
import { parseQuery } from './plumbing/query-text.ts'
import type { App, RouteContext } from './plumbing/route-options.ts'
import { validatorCompiler } from './plumbing/validation.ts'
import { auditRoute } from './routes/audit-route.ts'
import { authorizeRoute } from './routes/authorize-route.ts'
import { checkRoutes } from './routes/check-routes.ts'
import { counterRoutes, refundRoute } from './routes/counter-routes.ts'
import { documentRoutes } from './routes/document-routes.ts'
import { eventsRoute } from './routes/events-route.ts'
import { fixedWindowSetRoute } from './routes/fixed-window-set-route.ts'
import { fleetRoute } from './routes/fleet-route.ts'
import { holdRoutes } from './routes/hold-routes.ts'
import { keyRoutes } from './routes/key-routes.ts'
import { knownHoldRoutes } from './routes/known-hold-routes.ts'
import { healthRoutes, metricsRoute } from './routes/operation-routes.ts'
import { policyRoutes } from './routes/policy-routes.ts'
import { recordsRoutes } from './routes/records-routes.ts'
import { sessionRoutes } from './routes/session-routes.ts'
import { shadowRoute } from './routes/shadow-route.ts'
import { simulateRoute } from './routes/simulate-route.ts'
import { statsRoutes } from './routes/stats-routes.ts'
import { statusRoute } from './routes/status-route.ts'

/** The set of routes that a listener serves. `deciding`: checks. `administration`: everything else. Both serve health. */
export type Plane = 'deciding' | 'administration'

export interface AppOptions {
  readonly service: Service
  readonly planes: readonly Plane[]
  readonly tls?: TlsOptions | undefined
  /** Reads checks straight from the sockets. Default: false. */
  readonly fastChecks?: boolean
  /** Called before the routes are added. */
  readonly before?: (app: App) => void
}

export interface BuiltApp extends Pick<Door, 'beginDrain' | 'close'> {
  readonly app: App
}

export function buildApp({ service, planes, tls, fastChecks = false, before }: AppOptions): BuiltApp {
  const openRequests = new OpenRequests()
  const drain = new ListenerDrain()
  const isLogging = service.logger.isLevelEnabled('debug')
  const authentication = new Authentication(service)
  const door = planes.includes('deciding') ? new CheckDoor(service, authentication, LIMITS.mostBodyBytes) : undefined
  const app = fastify({
    serverFactory: (route) => {
      const server = httpServer((request, response) => {
        if (drain.hasBegun && !drain.takes(request, response)) return
        openRequests.add(response)
        if (isLogging) logWhenDone(service.logger, request, response)
        if (door !== undefined && isCheck(request)) door.answer(request, response)
        else route(request, response)
      }, tls)
      // At log level debug each request is logged, which takes longer than fast checks save.
      const isFast = fastChecks && door !== undefined && !isLogging
      drain.add(server, isFast ? new FastChecks({ server, door, authentication, openRequests }) : undefined)
      return server
    },
    logger: false,
    bodyLimit: LIMITS.mostBodyBytes,
    genReqId: requestIds(),
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // http-server.ts answers these errors. Fastify's own handler would close the connection first.
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
  return { app, beginDrain: () => drain.begin(), close: (options) => close(app, drain, openRequests, options) }
}

async function close(
  app: App,
  drain: ListenerDrain,
  openRequests: OpenRequests,
  { delayMs, withinMs }: CloseOptions,
): Promise<void> {
  await drain.stopAccepting(delayMs)
  const closed = app.close()
  drain.closeIdleConnections()
  // If a connection ends, Node emits no event for a response that is queued behind another one. `allEnded` covers that case.
  await Promise.race([openRequests.allDone(), drain.allEnded(), pause(withinMs, undefined, { ref: false })])
  // A server that is closing does not time out slow connections any more.
  drain.closeAllConnections()
  await closed
}

function addRoutes(app: App, context: RouteContext, planes: readonly Plane[], pages: BuiltPages | undefined): void {
  // Registered as a plugin, so that plugins added by `before` (the API's description) see the routes.
  app.register((routes, _options, done) => {
    healthRoutes(routes as App, context)
    if (planes.includes('deciding')) {
      checkRoutes(routes as App, context)
      authorizeRoute(routes as App, context)
      holdRoutes(routes as App, context)
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
  knownHoldRoutes,
  policyRoutes,
  simulateRoute,
  shadowRoute,
  keyRoutes,
  auditRoute,
  recordsRoutes,
  statsRoutes,
  fleetRoute,
  eventsRoute,
  metricsRoute,
  documentRoutes,
  sessionRoutes,
  statusRoute,
]

/** Logs one line for each request. Used at log level debug only. */
function logWhenDone(logger: Logger, { method, url = '' }: IncomingMessage, response: ServerResponse): void {
  const startMs = performance.now()
  const [path] = url.split('?')
  response.on('close', () => {
    logger.debug({ method, path, status: response.statusCode, tookMs: Math.round(performance.now() - startMs) }, 'answered')
  })
}

/** Ids are unique across instances and restarts. */
function requestIds(): () => string {
  const start = randomBytes(6).toString('base64url')
  let count = 0
  return () => {
    count += 1
    return `${start}-${count}`
  }
}
