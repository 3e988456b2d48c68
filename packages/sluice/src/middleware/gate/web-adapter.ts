// The common part of adapters for the standard Request and Response: Hono, and fetch handlers on any runtime.

import type { RequestHeaders } from '../../http/peer-address.ts'
import type { Denial } from '../../http/responder.ts'
import type { Adapter } from './adapter.ts'
import { quickName } from './field-names.ts'
import type { Gate } from './gate.ts'
import type { NodeRequest } from './node-adapter.ts'
import { nodeHeaders } from './raw-headers.ts'
import type { GateContext } from './request-context.ts'

/** Writes the fields of a Response. */
export const webFields: Pick<Adapter<object, Headers>, 'writesFirst' | 'setField' | 'addField'> = {
  writesFirst: false,
  setField: (headers, name, value) => headers.set(quickName(name), value),
  addField: (headers, name, value) => headers.append(quickName(name), value),
}

/**
 * Returns the address at the other end of the socket. A Request does not contain it. Runtimes pass it beside the request: Deno's
 * info, Bun's server, Node's message under Hono. Returns false if it is not there. Workers pass their settings in the same place,
 * and a setting may have one of these names.
 */
export function webPeer(request: Request, beside: unknown): string | undefined | false {
  const { remoteAddr, requestIP, server, incoming } = (beside ?? {}) as Beside
  if (typeof incoming?.socket === 'object' && incoming.socket !== null) return incoming.socket.remoteAddress
  if (typeof remoteAddr?.hostname === 'string') return remoteAddr.hostname
  // A socket without an address, such as a Unix socket.
  if (typeof remoteAddr?.transport === 'string') return undefined
  if (typeof requestIP === 'function') return (beside as BunServer).requestIP(request)?.address
  if (typeof server?.requestIP === 'function') return server.requestIP(request)?.address
  return false
}

/** Returns a request's headers, from Node's message if there is one, because `Headers` is slower. */
export function webHeaders(request: Request, beside: unknown): RequestHeaders {
  const { incoming } = (beside ?? {}) as Beside
  return incoming?.rawHeaders === undefined ? request.headers : nodeHeaders(incoming as NodeRequest)
}

interface BunServer {
  requestIP(request: Request): { readonly address: string } | null
}

interface Beside extends Partial<BunServer> {
  readonly incoming?: Partial<NodeRequest>
  readonly remoteAddr?: { readonly hostname?: string; readonly transport?: string }
  readonly server?: BunServer
}

/** Makes the response to a denied request, with these headers and no others. */
export function denialResponse({ status, body }: Denial, headers: Record<string, string> = {}): Response {
  // Some statuses do not allow a body, not even an empty one.
  return new Response(body === '' ? null : body, { status, headers })
}

/** Returns the denial's `Content-Type` alone. Without it, a Response with a text would have another one. */
export function contentType({ headers }: Denial): Record<string, string> {
  const name = Object.keys(headers).find((each) => each.toLowerCase() === 'content-type')
  return name === undefined ? {} : { 'content-type': headers[name] }
}

/** Writes fields into a response, or into a copy if the response cannot be changed. Returns the response to send. */
export function withFields<R extends object>(
  gate: Pick<Gate<R, Headers>, 'hasFields' | 'writeFields'>,
  context: GateContext<R>,
  response: Response,
): Response {
  // Some runtimes make a response's headers on the first read, which is slow.
  if (!gate.hasFields(context)) return response
  try {
    gate.writeFields(context, response.headers)
    return response
  } catch (error) {
    // Headers of a fetched response cannot be changed. The response to an upgrade cannot be copied either.
    if (!(error instanceof TypeError) || response.status < 200) return response
    const copy = new Response(response.body, response)
    gate.writeFields(context, copy.headers)
    return copy
  }
}

/** Refunds the charge by a response's status. If the client has disconnected, the charge stays. */
export function refundAfterWeb<R extends object>(
  gate: Pick<Gate<R, never>, 'mayRefund' | 'refundIfFree'>,
  context: GateContext<R>,
  request: Request,
  status: number,
): void {
  if (gate.mayRefund(context) && !request.signal.aborted) gate.refundIfFree(context, status)
}
