// sluice/fastify: a plugin for Fastify 5. It limits the routes of the instance that it is registered on, and of all inside.

import { SluiceError, show } from '../core/errors.ts'
import { type FastifyReply, fastifyFields } from './fastify-frame.ts'
import type { Frame } from './frame.ts'
import { Gate } from './gate.ts'
import type { GateOptions, RouteOptions } from './gate-options.ts'
import { headersOf, type NodeRequest, settleWith } from './node-frame.ts'
import { isPromise } from './soon.ts'
import type { GateVisit } from './visit.ts'

export type * from './gate-types.ts'

/** As much of a request of Fastify as is needed, and what callbacks are glad to have. */
export interface FastifyRequest {
  readonly raw: NodeRequest
  readonly headers: NodeRequest['headers']
  readonly method: string
  readonly url: string
  readonly ip: string
  readonly routeOptions: { readonly config: object }
}

export interface FastifyLimiterOptions extends GateOptions<FastifyRequest> {
  /** When it runs: the later, the more have earlier hooks found out, and the more work was done in vain. Default: `'onRequest'`. */
  readonly hook?: 'onRequest' | 'preValidation' | 'preHandler'
}

/** What a route can say in its `config`, as `sluice`. */
export type FastifyRouteOptions = RouteOptions<FastifyRequest>

/** As much of an instance of Fastify as is needed. */
export interface FastifyInstance {
  printRoutes(): string
  addHook(name: 'onRequest', hook: Hook): unknown
  addHook(name: 'onRoute', hook: (route: { readonly config?: object }) => void): unknown
}

type Hook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void

const HOOKS = ['onRequest', 'preValidation', 'preHandler'] as const

/** What Fastify prints if no route has been made so far. */
const NO_ROUTES = '(empty tree)'

const fastifyFrame: Frame<FastifyRequest, FastifyReply> = {
  peer: ({ raw }) => raw.socket.remoteAddress,
  headers: ({ raw }) => headersOf(raw),
  holder: (request) => request,
  ...fastifyFields,
}

/** Limits the routes of an instance: `app.register(fastifyLimiter, { rules: '100/minute' })`. */
export async function fastifyLimiter(instance: FastifyInstance, options: FastifyLimiterOptions): Promise<void> {
  const { hook = 'onRequest', ...gateOptions } = options
  if (!HOOKS.includes(hook)) {
    throw new SluiceError(
      'ERR_OPTION',
      `fastifyLimiter needs hook to be ${HOOKS.map((h) => `'${h}'`).join(', ')}, got ${show(hook)}`,
    )
  }
  const common = new Gate('fastifyLimiter', gateOptions, fastifyFrame)
  const gateOf = (config: object | undefined): Gate<FastifyRequest, FastifyReply> | undefined => {
    const { sluice } = (config ?? {}) as { readonly sluice?: FastifyRouteOptions }
    if (sluice === false) return undefined
    return sluice === undefined ? common : common.forRoute(sluice)
  }
  // A request's config takes long to read. It need not be if all routes are seen where they are made and none has options of its own.
  let isOneForAll = instance.printRoutes() === NO_ROUTES
  instance.addHook('onRoute', ({ config }) => {
    // Options that cannot work are refused here.
    if (gateOf(config) !== common) isOneForAll = false
  })
  instance.addHook(hook as 'onRequest', (request, reply, next) => {
    const gate = isOneForAll ? common : gateOf(request.routeOptions.config)
    if (gate === undefined) return next()
    const entered = gate.enter(request)
    if (isPromise(entered)) entered.then((visit) => answer(gate, visit, reply, next), next)
    else answer(gate, entered, reply, next)
  })
}

function answer(
  gate: Gate<FastifyRequest, FastifyReply>,
  visit: GateVisit<FastifyRequest>,
  reply: FastifyReply,
  next: () => void,
): void {
  gate.writeFields(visit, reply)
  settleWith(gate, visit, reply.raw)
  if (visit.denial === undefined) return next()
  reply.code(visit.denial.status)
  reply.send(visit.denial.body)
}

/** Without a context of its own, so that its hooks are those of the instance it was registered on. */
Object.assign(fastifyLimiter, { [Symbol.for('skip-override')]: true, [Symbol.for('fastify.display-name')]: 'sluice' })
