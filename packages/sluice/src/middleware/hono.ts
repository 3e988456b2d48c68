// The door `sluice/hono`: middleware for Hono 4, on any runtime.

import type { Rule } from '../core/rule.ts'
import type { Subject, SubjectOf } from '../core/subject.ts'
import type { Adapter } from './gate/adapter.ts'
import { Gate } from './gate/gate.ts'
import { andThen } from './gate/maybe-promise.ts'
import type { GateOptions } from './gate/options.ts'
import { denialResponse, refundAfterWeb, webFields, webHeaders, webPeer, withFields } from './gate/web-adapter.ts'

export type * from './gate/types.ts'

/** The part of Hono's context that is used here. */
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

const honoAdapter: Adapter<HonoContext, Headers> = {
  ...webFields,
  peer: ({ req, env }) => webPeer(req.raw, env),
  headers: ({ req, env }) => webHeaders(req.raw, env),
  holder: (hono) => hono,
}

/** Limits the requests that pass it: `app.use(honoLimiter({ rules: fixedWindow({ limit: 100, window: '1m' }) }))`. */
export function honoLimiter<C extends HonoContext = HonoContext, T extends Rule = Rule, S extends Subject = SubjectOf<T>>(
  options: GateOptions<C, T, S>,
): HonoMiddleware<C> {
  const gate = new Gate<C, Headers>('honoLimiter', options, honoAdapter)
  return (hono, next) =>
    andThen(gate.enter(hono), (context): Promise<Response | undefined> | Response => {
      const { denial } = context
      if (denial !== undefined) {
        // Reading `res` makes Hono keep the fields that earlier middleware has set.
        void hono.res
        return withFields(gate, context, denialResponse(denial))
      }
      return next().then(() => {
        refundAfterWeb(gate, context, hono.req.raw, hono.res.status)
        const response = withFields(gate, context, hono.res)
        if (response !== hono.res) {
          // Without this, Hono would overwrite fields of the new response with those of the old one.
          hono.res = undefined
          hono.res = response
        }
        return undefined
      })
    }) as Promise<Response | undefined>
}
