// sluice/fetch: for any handler from Request to Response: Deno, Bun, Workers, Next.js and whatever comes.

import type { Frame } from './frame.ts'
import { Gate } from './gate.ts'
import type { GateOptions } from './gate-options.ts'
import { isPromise, type Soon } from './soon.ts'
import type { GateVisit } from './visit.ts'
import { headersOf, peerOf, settleWith, webFields, withFields } from './web-frame.ts'

export type * from './gate-types.ts'

/** Limits a handler. What it is given beside the request goes through as it is. */
export type FetchMiddleware<R> = <Q extends R, A extends readonly unknown[]>(handler: Handler<Q, A>) => Handler<Q, A>

type Handler<R, A extends readonly unknown[]> = (request: R, ...rest: A) => Response | Promise<Response>

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
    (request, ...rest) => {
      const entered = gate.enter(request, rest)
      const answered = isPromise(entered) ? entered.then((visit) => answer(gate, visit, handler)) : answer(gate, entered, handler)
      return answered as Response | Promise<Response>
    }
}

function answer<R extends Request, Q extends R, A extends readonly unknown[]>(
  gate: Gate<R, Headers>,
  visit: GateVisit<R>,
  handler: Handler<Q, A>,
): Soon<Response> {
  const { denial } = visit
  if (denial !== undefined) return withFields(gate, visit, new Response(denial.body, { status: denial.status }))
  let handled: Response | Promise<Response>
  try {
    handled = handler(visit.request as Q, ...(visit.rest as A))
  } catch (error) {
    return fail(gate, visit, error)
  }
  if (!isPromise(handled)) return succeed(gate, visit, handled)
  return handled.then(
    (response) => succeed(gate, visit, response),
    (error) => fail(gate, visit, error),
  )
}

function succeed<R extends Request>(gate: Gate<R, Headers>, visit: GateVisit<R>, response: Response): Response {
  const told = withFields(gate, visit, response)
  leave(gate, visit, response.status)
  return told
}

/** Whoever catches it will answer with an error of the server's. */
function fail<R extends Request>(gate: Gate<R, Headers>, visit: GateVisit<R>, error: unknown): never {
  leave(gate, visit, 500)
  throw error
}

function leave<R extends Request>(gate: Gate<R, Headers>, visit: GateVisit<R>, status: number): void {
  visit.wipeMark()
  settleWith(gate, visit, visit.request, status)
}
