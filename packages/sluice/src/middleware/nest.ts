// The door `sluice/nest`: a guard for Nest on Express or Fastify, and a decorator that changes options for routes.

import type { Rule } from '../core/rule.ts'
import type { Subject, SubjectOf } from '../core/subject.ts'
import type { Adapter } from './gate/adapter.ts'
import { type FastifyReply, fastifyFields } from './gate/fastify-adapter.ts'
import type { Gate } from './gate/gate.ts'
import { andThen, type MaybePromise } from './gate/maybe-promise.ts'
import { followNode, type NodeRequest, type NodeResponse, nodeAdapter } from './gate/node-adapter.ts'
import type { GateOptions, RouteOptions } from './gate/options.ts'
import { checkRouteOptions, RouteGates } from './gate/route-gates.ts'

export type * from './gate/types.ts'

/** The part of a request of Express or Fastify that is used here. */
export interface NestRequest extends NodeRequest {
  readonly method: string
  readonly url: string
}

/** The part of Nest's execution context that is used here. */
export interface NestContext {
  getType(): string
  getClass(): object
  getHandler(): object
  /** For HTTP, 0 is the request and 1 is the response. */
  getArgByIndex(index: number): unknown
}

export interface NestGuard {
  canActivate(context: NestContext): boolean | Promise<boolean>
}

/** Express' response extends Node's response. Fastify's reply contains it. */
type NestResponse = NodeResponse | FastifyReply

const nestAdapter: Adapter<NestRequest, NestResponse> = {
  ...nodeAdapter,
  setField: (response, name, value) =>
    isNodes(response) ? nodeAdapter.setField(response, name, value) : fastifyFields.setField(response, name, value),
  addField: (response, name, value) =>
    isNodes(response) ? nodeAdapter.addField(response, name, value) : fastifyFields.addField(response, name, value),
}

/** Looks for a property that Express has, because looking for a missing property takes microseconds on Express. */
function isNodes(response: NestResponse): response is NodeResponse {
  return 'setHeader' in response
}

/** Options of decorated handlers and controllers. */
const ROUTES = new WeakMap<object, RouteOptions<NestRequest>>()

/** Makes a guard for `app.useGlobalGuards(nestLimiter(options))` or `@UseGuards()`. Only HTTP is limited. */
export function nestLimiter<R extends NestRequest = NestRequest, T extends Rule = Rule, S extends Subject = SubjectOf<T>>(
  options: GateOptions<R, T, S>,
): NestGuard {
  const gates = new RouteGates<R, NestResponse>('nestLimiter', options, nestAdapter)
  return {
    canActivate(nest) {
      if (nest.getType() !== 'http') return true
      const route = (ROUTES.get(nest.getHandler()) ?? ROUTES.get(nest.getClass())) as RouteOptions<R> | undefined
      const gate = gates.of(route)
      return gate === undefined || (activate(gate, nest) as boolean | Promise<boolean>)
    },
  }
}

/** Changes options for a handler, or for all handlers of a controller: `@RateLimit({ cost: 5 })`, `@RateLimit(false)`. */
export function RateLimit<R extends NestRequest = NestRequest>(route: RouteOptions<R>) {
  return (target: object, _name?: string | symbol, descriptor?: { readonly value?: unknown }): void => {
    checkRouteOptions('RateLimit', route)
    ROUTES.set((descriptor?.value as object | undefined) ?? target, route as RouteOptions<NestRequest>)
  }
}

function activate<R extends NestRequest>(gate: Gate<R, NestResponse>, nest: NestContext): MaybePromise<boolean> {
  const response = nest.getArgByIndex(1) as NestResponse
  return andThen(gate.enter(nest.getArgByIndex(0) as R), (context): MaybePromise<boolean> => {
    const raw = isNodes(response) ? response : response.raw
    // Another handler, such as a timeout, may have answered before the decision came.
    const isSent = raw.headersSent
    if (!isSent) gate.writeFields(context, response)
    const { denial } = context
    if (denial === undefined) {
      followNode(gate, context, raw)
      return true
    }
    if (isSent) return new Promise(() => {})
    if (isNodes(response)) {
      response.statusCode = denial.status
      response.end(denial.body)
    } else {
      response.code(denial.status)
      response.send(denial.body)
    }
    // The response has been sent. False would make Nest send another one. With a promise that never settles, Nest does nothing.
    return new Promise(() => {})
  })
}
