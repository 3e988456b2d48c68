// The door `sluice/fetch`: for any handler from Request to Response: Deno, Bun, Workers, Next.js and others.

import type { Rule } from '../core/rule.ts'
import type { Subject, SubjectOf } from '../core/subject.ts'
import type { Adapter } from './gate/adapter.ts'
import { Gate } from './gate/gate.ts'
import { andThen, type MaybePromise, tryThen } from './gate/maybe-promise.ts'
import type { GateOptions } from './gate/options.ts'
import { denialResponse, refundAfterWeb, webFields, webPeer, withFields } from './gate/web-adapter.ts'

export type * from './gate/types.ts'

/** Limits a handler. Further arguments are passed on unchanged. */
export type FetchMiddleware<R> = <Q extends R, A extends readonly unknown[]>(handler: Handler<Q, A>) => Handler<Q, A>

type Handler<R, A extends readonly unknown[]> = (request: R, ...rest: A) => Response | Promise<Response>

const fetchAdapter: Adapter<Request, Headers> = {
  ...webFields,
  peer: (request, [beside]) => webPeer(request, beside),
  headers: (request) => request.headers,
  holder: (request) => request,
}

/**
 * Limits the requests of a handler: `Deno.serve(fetchLimiter({ rules: fixedWindow({ limit: 100, window: '1m' }) })(handler))`.
 */
export function fetchLimiter<R extends Request = Request, T extends Rule = Rule, S extends Subject = SubjectOf<T>>(
  options: GateOptions<R, T, S>,
): FetchMiddleware<R> {
  const gate = new Gate<R, Headers>('fetchLimiter', options, fetchAdapter)
  return (handler) =>
    (request, ...rest) =>
      andThen(gate.enter(request, rest), (context): MaybePromise<Response> => {
        const { denial, held } = context
        if (denial !== undefined) return withFields(gate, context, denialResponse(denial))
        const leave = (status: number): void => {
          context.wipeMark()
          refundAfterWeb(gate, context, request, status)
        }
        const handle = (): MaybePromise<Response> => handler(request, ...rest)
        return tryThen(
          held === undefined ? handle : () => held.handleWeb(request, handle),
          (response) => {
            const limited = withFields(gate, context, response)
            leave(response.status)
            return limited
          },
          (error) => {
            // The server will respond with a failure.
            leave(500)
            throw error
          },
        )
      }) as Response | Promise<Response>
}
