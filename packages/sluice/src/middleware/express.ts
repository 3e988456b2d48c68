// The door `sluice/express`: middleware for Express 4 and 5.

import type { Rule } from '../core/rule.ts'
import type { Subject, SubjectOf } from '../core/subject.ts'
import { Gate } from './gate/gate.ts'
import { type NodeRequest, type NodeResponse, nodeAdapter, nodeMiddleware } from './gate/node-adapter.ts'
import type { GateOptions } from './gate/options.ts'

export type * from './gate/types.ts'

/** The part of Express' request that is used here, or that callbacks often need. */
export interface ExpressRequest extends NodeRequest {
  readonly method: string
  readonly path: string
}

export type ExpressMiddleware<R> = (request: R, response: NodeResponse, next: (error?: unknown) => void) => void

/** Limits the requests that pass it: `app.use(expressLimiter({ rules: fixedWindow({ limit: 100, window: '1m' }) }))`. */
export function expressLimiter<
  R extends ExpressRequest = ExpressRequest,
  T extends Rule = Rule,
  S extends Subject = SubjectOf<T>,
>(options: GateOptions<R, T, S>): ExpressMiddleware<R> {
  return nodeMiddleware(new Gate<R, NodeResponse>('expressLimiter', options, nodeAdapter))
}
