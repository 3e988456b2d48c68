// The door `sluice/koa`: middleware for Koa 3.

import type { Rule } from '../core/rule.ts'
import type { Subject, SubjectOf } from '../core/subject.ts'
import type { Adapter } from './gate/adapter.ts'
import { Gate } from './gate/gate.ts'
import { andThen, type MaybePromise } from './gate/maybe-promise.ts'
import { followNode, type NodeRequest, type NodeResponse, nodeFields, nodeHolder } from './gate/node-adapter.ts'
import type { GateOptions } from './gate/options.ts'
import { nodeHeaders } from './gate/raw-headers.ts'

export type * from './gate/types.ts'

/** The part of Koa's context that is used here, or that callbacks often need. */
export interface KoaContext {
  readonly req: NodeRequest
  readonly res: NodeResponse
  readonly method: string
  readonly path: string
  status: number
  body: unknown
}

export type KoaMiddleware<C> = (context: C, next: () => Promise<unknown>) => MaybePromise<unknown>

const koaAdapter: Adapter<KoaContext, KoaContext> = {
  peer: ({ req }) => req.socket.remoteAddress,
  headers: ({ req }) => nodeHeaders(req),
  holder: ({ req }) => nodeHolder(req),
  writesFirst: true,
  setField: ({ res }, name, value) => nodeFields.setField(res, name, value),
  addField: ({ res }, name, value) => nodeFields.addField(res, name, value),
}

/** Limits the requests that pass it: `app.use(koaLimiter({ rules: fixedWindow({ limit: 100, window: '1m' }) }))`. */
export function koaLimiter<C extends KoaContext = KoaContext, T extends Rule = Rule, S extends Subject = SubjectOf<T>>(
  options: GateOptions<C, T, S>,
): KoaMiddleware<C> {
  const gate = new Gate<C, KoaContext>('koaLimiter', options, koaAdapter)
  return (koa, next) =>
    andThen(gate.enter(koa), (context): MaybePromise<unknown> => {
      // Another handler, such as a timeout, may have answered before the decision came.
      if (!koa.res.headersSent) gate.writeFields(context, koa)
      followNode(gate, context, koa.res)
      const { denial } = context
      if (denial === undefined) return next()
      koa.status = denial.status
      koa.body = denial.body
      return undefined
    })
}
