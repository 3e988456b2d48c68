// The door `sluice/fastify`: a plugin for Fastify 5. It limits the routes of its instance, and of all instances inside.

import { SluiceError, show } from '../core/errors.ts'
import type { Rule } from '../core/rule.ts'
import type { Subject, SubjectOf } from '../core/subject.ts'
import type { Adapter } from './gate/adapter.ts'
import { type FastifyReply, fastifyFields } from './gate/fastify-adapter.ts'
import type { Gate } from './gate/gate.ts'
import { andThen, tryThen } from './gate/maybe-promise.ts'
import { asError, followNode, type NodeRequest } from './gate/node-adapter.ts'
import type { GateOptions, RouteOptions } from './gate/options.ts'
import { nodeHeaders } from './gate/raw-headers.ts'
import type { GateContext } from './gate/request-context.ts'
import { RouteGates } from './gate/route-gates.ts'

export type * from './gate/types.ts'

/** The part of Fastify's request that is used here, or that callbacks often need. */
export interface FastifyRequest {
  readonly raw: NodeRequest
  readonly headers: NodeRequest['headers']
  readonly method: string
  readonly url: string
  readonly ip: string
  readonly routeOptions: { readonly config: object }
}

export interface FastifyLimiterOptions<T extends Rule = Rule, S extends Subject = SubjectOf<T>>
  extends GateOptions<FastifyRequest, T, S> {
  /**
   * The hook in which it runs. Later hooks know more about the request, but more work is wasted on denied ones. Default:
   * `'onRequest'`.
   */
  readonly hook?: 'onRequest' | 'preValidation' | 'preHandler'
}

/** Options of one route, as `sluice` in its `config`. */
export type FastifyRouteOptions = RouteOptions<FastifyRequest>

/** The part of a Fastify instance that is used here. */
export interface FastifyInstance {
  printRoutes(): string
  addHook(name: 'onRequest', hook: Hook): unknown
  addHook(name: 'onRoute', hook: (route: { readonly config?: object }) => void): unknown
}

type Hook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void

const HOOKS = ['onRequest', 'preValidation', 'preHandler'] as const

/** Output of `printRoutes` before the first route. */
const NO_ROUTES = '(empty tree)'

const fastifyAdapter: Adapter<FastifyRequest, FastifyReply> = {
  peer: ({ raw }) => raw.socket.remoteAddress,
  headers: ({ raw }) => nodeHeaders(raw),
  holder: (request) => request,
  ...fastifyFields,
}

/** Limits the routes of an instance: `app.register(fastifyLimiter, { rules: fixedWindow({ limit: 100, window: '1m' }) })`. */
export async function fastifyLimiter(instance: FastifyInstance, options: FastifyLimiterOptions): Promise<void> {
  const { hook = 'onRequest', ...gateOptions } = options
  if (!HOOKS.includes(hook)) {
    const message = `fastifyLimiter needs hook to be ${HOOKS.map((h) => `'${h}'`).join(', ')}, got ${show(hook)}`
    throw new SluiceError('ERR_OPTION', message, { option: 'hook', value: hook })
  }
  const gates = new RouteGates('fastifyLimiter', gateOptions, fastifyAdapter)
  const gateOf = (config: object | undefined) =>
    gates.of((config as { readonly sluice?: FastifyRouteOptions } | undefined)?.sluice)
  // Reading a request's config is slow. It is not read if all routes were seen when they were made and none changes options.
  let isOneForAll = instance.printRoutes() === NO_ROUTES
  instance.addHook('onRoute', ({ config }) => {
    // Makes the gate now, so that wrong options are refused at the start.
    if (gateOf(config) !== gates.common) isOneForAll = false
  })
  instance.addHook(hook as 'onRequest', (request, reply, next) => {
    const gate = isOneForAll ? gates.common : gateOf(request.routeOptions.config)
    if (gate === undefined) return next()
    tryThen(
      () => andThen(gate.enter(request), (context) => answer(gate, context, reply)),
      (isAnswered) => {
        if (!isAnswered) next()
      },
      (error) => next(asError(error)),
    )
  })
}

/** Writes the fields, and the denial if there is one. Returns true if the request goes no further. */
function answer(gate: Gate<FastifyRequest, FastifyReply>, context: GateContext<FastifyRequest>, reply: FastifyReply): boolean {
  gate.writeFields(context, reply)
  followNode(gate, context, reply.raw)
  const { denial } = context
  if (denial === undefined) return false
  reply.code(denial.status)
  reply.send(denial.body)
  return true
}

/** The plugin has no context of its own, so its hooks belong to the instance on which it is registered. */
Object.assign(fastifyLimiter, { [Symbol.for('skip-override')]: true, [Symbol.for('fastify.display-name')]: 'sluice' })
