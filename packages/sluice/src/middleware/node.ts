// The door `sluice/node`: for node:http and node:http2, and for servers that call middleware with request, response and next.

import type { Rule } from '../core/rule.ts'
import type { Subject, SubjectOf } from '../core/subject.ts'
import { Gate } from './gate/gate.ts'
import { type NodeRequest, type NodeResponse, nodeAdapter, nodeMiddleware } from './gate/node-adapter.ts'
import type { GateOptions } from './gate/options.ts'

export type * from './gate/types.ts'

/** Calls `next` if the request passes, or with an error if there is no decision. Otherwise it responds to the request. */
export type NodeMiddleware<R> = (request: R, response: NodeResponse, next: (error?: unknown) => void) => void

/** Limits the requests of a `node:http` server. */
export function nodeLimiter<R extends NodeRequest = NodeRequest, T extends Rule = Rule, S extends Subject = SubjectOf<T>>(
  options: GateOptions<R, T, S>,
): NodeMiddleware<R> {
  return nodeMiddleware(new Gate<R, NodeResponse>('nodeLimiter', options, nodeAdapter))
}
