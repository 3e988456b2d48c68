// The door `sluice/hono`: middleware for Hono 4, on any runtime.

import type { Rule } from '../core/rule.ts'
import type { Subject, SubjectOf } from '../core/subject.ts'
import type { Adapter } from './gate/adapter.ts'
import { Gate } from './gate/gate.ts'
import { andThen } from './gate/maybe-promise.ts'
import { type NodeResponse, nodeFields } from './gate/node-adapter.ts'
import type { GateOptions } from './gate/options.ts'
import { contentType, denialResponse, refundAfterWeb, webFields, webHeaders, webPeer, withFields } from './gate/web-adapter.ts'

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

/** The target of fields: the response of node:http if Hono runs on it, otherwise the headers of Hono's response. */
type Fields = Headers | NodeResponse

const honoAdapter: Adapter<HonoContext, Fields> = {
  peer: ({ req, env }) => webPeer(req.raw, env),
  headers: ({ req, env }) => webHeaders(req.raw, env),
  holder: (hono) => hono,
  // Fields of node:http are written first, but fields of a Response are not.
  writesFirst: false,
  setField: (fields, name, value) =>
    isNodes(fields) ? nodeFields.setField(fields, name, value) : webFields.setField(fields, name, value),
  addField: (fields, name, value) =>
    isNodes(fields) ? nodeFields.addField(fields, name, value) : webFields.addField(fields, name, value),
}

/** Limits the requests that pass it: `app.use(honoLimiter({ rules: fixedWindow({ limit: 100, window: '1m' }) }))`. */
export function honoLimiter<C extends HonoContext = HonoContext, T extends Rule = Rule, S extends Subject = SubjectOf<T>>(
  options: GateOptions<C, T, S>,
): HonoMiddleware<C> {
  const gate = new Gate<C, Fields>('honoLimiter', options, honoAdapter)
  return (hono, next) =>
    andThen(gate.enter(hono), (context): Promise<Response | undefined> | Response => {
      const { denial, held } = context
      const outgoing = nodeResponse(hono)
      // On node:http, fields of a Response would cost as much as the rest of the request: its headers have to be made and read.
      if (outgoing !== undefined) gate.writeFields(context, outgoing)
      if (denial !== undefined) {
        // Reading `res` makes Hono keep the fields that earlier middleware has set.
        void hono.res
        return outgoing === undefined
          ? withFields(gate, context, denialResponse(denial))
          : denialResponse(denial, contentType(denial))
      }
      if (outgoing !== undefined) held?.followNode(outgoing)
      if (outgoing !== undefined && !gate.mayRefund(context)) return next() as Promise<undefined>
      const leave = async (): Promise<undefined> => {
        refundAfterWeb(gate, context, hono.req.raw, hono.res.status)
        if (outgoing !== undefined) return
        const limited = withFields(gate, context, hono.res)
        const response = held === undefined ? limited : await held.followWeb(hono.req.raw, limited)
        if (response !== hono.res) {
          // Without this, Hono would overwrite fields of the new response with those of the old one.
          hono.res = undefined
          hono.res = response
        }
      }
      // Hono makes a response of every error, but not of other values that were thrown.
      return next().then(leave, async (thrown) => {
        await held?.fail()
        throw thrown
      })
    }) as Promise<Response | undefined>
}

/** Property of Hono's context for its response of node:http; null if it has none. */
const RESPONSE = Symbol('response')

/** Returns the response of node:http to which fields are written; undefined if they are written to Hono's response. */
function nodeResponse(hono: HonoContext & { [RESPONSE]?: NodeResponse | null }): NodeResponse | undefined {
  // All limiters of a request write to the same response, also if middleware between them replaces the Request.
  hono[RESPONSE] ??= findNodeResponse(hono) ?? null
  return hono[RESPONSE]?.headersSent === false ? hono[RESPONSE] : undefined
}

/** Finds the response of node:http that @hono/node-server passes beside the request. */
function findNodeResponse({ req, env }: HonoContext): NodeResponse | undefined {
  const { incoming, outgoing } = (env ?? {}) as { readonly incoming?: object; readonly outgoing?: Partial<NodeResponse> }
  // Workers pass their settings in the same place, and a setting may have one of these names.
  if (typeof incoming !== 'object' || incoming === null || typeof outgoing?.setHeader !== 'function') return undefined
  return isMadeFrom(req.raw, incoming) ? (outgoing as NodeResponse) : undefined
}

/** The property with which a Request of @hono/node-server holds the message of node:http, once it is known. */
let messageKey: symbol | undefined

/**
 * True if @hono/node-server made the Request from this message. A handler may make another Request and pass it to the application with
 * its own `env`: `app.request('/other', {}, c.env)`. The response of node:http is not the response to that Request.
 */
function isMadeFrom(request: object, message: object): boolean {
  const held = request as Record<symbol, unknown>
  if (messageKey !== undefined && held[messageKey] === message) return true
  const found = Object.getOwnPropertySymbols(request).find((key) => held[key] === message)
  messageKey = found ?? messageKey
  return found !== undefined
}

function isNodes(fields: Fields): fields is NodeResponse {
  return typeof (fields as NodeResponse).setHeader === 'function'
}
