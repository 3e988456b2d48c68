// sluice/express: for Express 4 and 5.

import { Gate } from './gate.ts'
import type { GateOptions } from './gate-options.ts'
import { type NodeRequest, type NodeResponse, nodeFrame, passOn } from './node-frame.ts'

export type * from './gate-types.ts'

/** As much of a request of Express as is needed, and what callbacks are glad to have. */
export interface ExpressRequest extends NodeRequest {
  readonly method: string
  readonly path: string
}

export type ExpressMiddleware<R> = (request: R, response: NodeResponse, next: (error?: unknown) => void) => void

/** Limits the requests that pass it: `app.use(expressLimiter({ rules: '100/minute' }))`. */
export function expressLimiter<R extends ExpressRequest = ExpressRequest>(options: GateOptions<R>): ExpressMiddleware<R> {
  const gate = new Gate<R, NodeResponse>('expressLimiter', options, nodeFrame)
  return (request, response, next) => passOn(gate, request, response, next)
}
