// sluice/nest: a guard for Nest, on Express or Fastify, and a decorator with which routes say some things differently.

import { type FastifyReply, fastifyFields } from './fastify-frame.ts'
import type { Frame } from './frame.ts'
import { Gate } from './gate.ts'
import type { GateOptions, RouteOptions } from './gate-options.ts'
import { type NodeRequest, type NodeResponse, nodeFrame, settleWith } from './node-frame.ts'
import { type Soon, whenKnown } from './soon.ts'

export type * from './gate-types.ts'

/** As much of a request as is needed, Express' or Fastify's. */
export interface NestRequest extends NodeRequest {
  readonly method: string
  readonly url: string
}

/** As much of an execution context of Nest as is needed. */
export interface NestContext {
  getType(): string
  getClass(): object
  getHandler(): object
  /** Of HTTP: the request, then the response. */
  getArgByIndex(index: number): unknown
}

export interface NestGuard {
  canActivate(context: NestContext): boolean | Promise<boolean>
}

/** Express' response is Node's, with more; Fastify's reply holds it. */
type NestResponse = NodeResponse | FastifyReply

const nestFrame: Frame<NestRequest, NestResponse> = {
  ...nodeFrame,
  setField: (response, name, value) =>
    isNodes(response) ? nodeFrame.setField(response, name, value) : fastifyFields.setField(response, name, value),
  addField: (response, name, value) =>
    isNodes(response) ? nodeFrame.addField(response, name, value) : fastifyFields.addField(response, name, value),
}

/** Asks for what is there on Express, since asking Express for what is not takes microseconds. */
function isNodes(response: NestResponse): response is NodeResponse {
  return 'setHeader' in response
}

/** What handlers and controllers say differently. */
const ROUTES = new WeakMap<object, RouteOptions<NestRequest>>()

/** A guard: `app.useGlobalGuards(nestLimiter({ rules: '100/minute' }))`, or in `@UseGuards()`. Only HTTP is limited. */
export function nestLimiter<R extends NestRequest = NestRequest>(options: GateOptions<R>): NestGuard {
  const gate = new Gate<R, NestResponse>('nestLimiter', options, nestFrame)
  return {
    canActivate(context) {
      if (context.getType() !== 'http') return true
      const route = (ROUTES.get(context.getHandler()) ?? ROUTES.get(context.getClass())) as RouteOptions<R> | undefined
      if (route === false) return true
      return activate(route === undefined ? gate : gate.forRoute(route), context) as boolean | Promise<boolean>
    },
  }
}

/** Has the guard treat a handler, or all handlers of a controller, differently: `@RateLimit({ cost: 5 })`, `@RateLimit(false)`. */
export function RateLimit<R extends NestRequest = NestRequest>(route: RouteOptions<R>) {
  return (target: object, _name?: string | symbol, descriptor?: { readonly value?: unknown }): void => {
    ROUTES.set((descriptor?.value as object | undefined) ?? target, route as RouteOptions<NestRequest>)
  }
}

function activate<R extends NestRequest>(gate: Gate<R, NestResponse>, context: NestContext): Soon<boolean> {
  const response = context.getArgByIndex(1) as NestResponse
  return whenKnown(gate.enter(context.getArgByIndex(0) as R), (visit): Soon<boolean> => {
    gate.writeFields(visit, response)
    if (visit.denial === undefined) {
      if (gate.mustSettle(visit)) settleWith(gate, visit, isNodes(response) ? response : response.raw)
      return true
    }
    const { status, body } = visit.denial
    if (isNodes(response)) {
      response.statusCode = status
      response.end(body)
    } else {
      response.code(status)
      response.send(body)
    }
    // The answer is given. False would have Nest answer once more; a promise that stays open has it do nothing at all.
    return new Promise(() => {})
  })
}
