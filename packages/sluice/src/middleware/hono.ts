// sluice/hono: for Hono 4, on any runtime.

import type { Frame } from './frame.ts'
import { Gate } from './gate.ts'
import type { GateOptions } from './gate-options.ts'
import { whenKnown } from './soon.ts'
import { headersOf, peerOf, settleWith, webFields, withFields } from './web-frame.ts'

export type * from './gate-types.ts'

/** As much of a context of Hono as is needed. */
export interface HonoContext {
  readonly req: {
    readonly raw: Request
    readonly method: string
    readonly path: string
    header(name: string): string | undefined
  }
  readonly env: unknown
  get res(): Response
  set res(response: Response | undefined)
}

export type HonoMiddleware<C> = (context: C, next: () => Promise<void>) => Promise<Response | undefined>

const honoFrame: Frame<HonoContext, Headers> = {
  ...webFields,
  peer: ({ req, env }) => peerOf('honoLimiter', req.raw, env),
  headers: ({ req, env }) => headersOf(req.raw, env),
  holder: (context) => context,
}

/** Limits the requests that pass it: `app.use(honoLimiter({ rules: '100/minute' }))`. */
export function honoLimiter<C extends HonoContext = HonoContext>(options: GateOptions<C>): HonoMiddleware<C> {
  const gate = new Gate<C, Headers>('honoLimiter', options, honoFrame)
  return (context, next) =>
    whenKnown(gate.enter(context), (visit): Promise<Response | undefined> | Response => {
      const { denial } = visit
      if (denial !== undefined) {
        // Reading it makes Hono keep what middleware before this one has set.
        void context.res
        return withFields(gate, visit, new Response(denial.body, { status: denial.status }))
      }
      return next().then(() => {
        settleWith(gate, visit, context.req.raw, context.res.status)
        const told = withFields(gate, visit, context.res)
        if (told !== context.res) {
          // Otherwise Hono would copy the old one's fields over the new one's.
          context.res = undefined
          context.res = told
        }
        return undefined
      })
    }) as Promise<Response | undefined>
}
