// sluice/node: for bare node:http and node:http2, and for whatever calls its middleware with a request, a response and a next.

import { Gate } from './gate.ts'
import type { GateOptions } from './gate-options.ts'
import { type NodeRequest, type NodeResponse, nodeFrame, passOn } from './node-frame.ts'

export type * from './gate-types.ts'

/** Calls `next` if the request passes, with an error if there is no saying; otherwise it has been answered. */
export type NodeMiddleware<R> = (request: R, response: NodeResponse, next: (error?: unknown) => void) => void

/** Limits the requests of a `node:http` server. */
export function nodeLimiter<R extends NodeRequest = NodeRequest>(options: GateOptions<R>): NodeMiddleware<R> {
  const gate = new Gate<R, NodeResponse>('nodeLimiter', options, nodeFrame)
  return (request, response, next) => passOn(gate, request, response, next)
}
