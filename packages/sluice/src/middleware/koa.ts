// sluice/koa: for Koa 3.

import type { Frame } from './frame.ts'
import { Gate } from './gate.ts'
import type { GateOptions } from './gate-options.ts'
import { headersOf, holderOf, type NodeRequest, type NodeResponse, nodeFields, settleWith } from './node-frame.ts'
import { type Soon, whenKnown } from './soon.ts'

export type * from './gate-types.ts'

/** As much of a context of Koa as is needed, and what callbacks are glad to have. */
export interface KoaContext {
  readonly req: NodeRequest
  readonly res: NodeResponse
  readonly method: string
  readonly path: string
  status: number
  body: unknown
}

export type KoaMiddleware<C> = (context: C, next: () => Promise<unknown>) => Soon<unknown>

const koaFrame: Frame<KoaContext, KoaContext> = {
  peer: ({ req }) => req.socket.remoteAddress,
  headers: ({ req }) => headersOf(req),
  holder: ({ req }) => holderOf(req),
  writesFirst: true,
  setField: ({ res }, name, value) => nodeFields.setField(res, name, value),
  addField: ({ res }, name, value) => nodeFields.addField(res, name, value),
}

/** Limits the requests that pass it: `app.use(koaLimiter({ rules: '100/minute' }))`. */
export function koaLimiter<C extends KoaContext = KoaContext>(options: GateOptions<C>): KoaMiddleware<C> {
  const gate = new Gate<C, KoaContext>('koaLimiter', options, koaFrame)
  return (context, next) =>
    whenKnown(gate.enter(context), (visit): Soon<unknown> => {
      gate.writeFields(visit, context)
      settleWith(gate, visit, context.res)
      if (visit.denial === undefined) return next()
      context.status = visit.denial.status
      context.body = visit.denial.body
      return undefined
    })
}
