// sluice/fetch: for any handler from Request to Response: Deno, Bun, Workers, Next.js and whatever comes.

import type { Frame } from './frame.ts'
import { Gate } from './gate.ts'
import type { GateOptions } from './gate-options.ts'
import { isPromise, type Soon, whenKnown } from './soon.ts'
import { headersOf, peerOf, settleWith, webFields, withFields } from './web-frame.ts'

export type * from './gate-types.ts'

/** Limits a handler. What it is given beside the request goes through as it is. */
export type FetchMiddleware<R> = <Q extends R, A extends readonly unknown[]>(
  handler: (request: Q, ...rest: A) => Response | Promise<Response>,
) => (request: Q, ...rest: A) => Response | Promise<Response>

const fetchFrame: Frame<Request, Headers> = {
  ...webFields,
  peer: (request, [beside]) => peerOf('fetchLimiter', request, beside),
  headers: (request, [beside]) => headersOf(request, beside),
  holder: (request) => request,
}

/** Limits the requests of a handler: `Deno.serve(fetchLimiter({ rules: '100/minute' })(handler))`. */
export function fetchLimiter<R extends Request = Request>(options: GateOptions<R>): FetchMiddleware<R> {
  const gate = new Gate<R, Headers>('fetchLimiter', options, fetchFrame)
  return (handler) =>
    (request, ...rest) =>
      whenKnown(gate.enter(request, rest), (visit): Soon<Response> => {
        const { denial } = visit
        if (denial !== undefined) return withFields(gate, visit, new Response(denial.body, { status: denial.status }))
        const leave = (status: number): void => {
          visit.wipeMark()
          settleWith(gate, visit, request, status)
        }
        const succeed = (response: Response): Response => {
          const told = withFields(gate, visit, response)
          leave(response.status)
          return told
        }
        // Whoever catches it will answer with an error of the server's.
        const fail = (error: unknown): never => {
          leave(500)
          throw error
        }
        let handled: Response | Promise<Response>
        try {
          handled = handler(request, ...rest)
        } catch (error) {
          return fail(error)
        }
        return isPromise(handled) ? handled.then(succeed, fail) : succeed(handled)
      }) as Response | Promise<Response>
}
