// The common part of adapters for the web's own Request and Response: Hono, and fetch handlers anywhere.

import { SluiceError } from '../../core/errors.ts'
import type { RequestHeaders } from '../../http/peer-address.ts'
import type { Adapter } from './adapter.ts'
import type { Gate } from './gate.ts'
import type { NodeRequest } from './node-adapter.ts'
import { nodeHeaders } from './raw-headers.ts'
import type { GateContext } from './request-context.ts'

/** Writes the fields of a Response. */
export const webFields: Pick<Adapter<object, Headers>, 'writesFirst' | 'setField' | 'addField'> = {
  writesFirst: false,
  setField: (headers, name, value) => headers.set(name, value),
  addField: (headers, name, value) => headers.append(name, value),
}

/**
 * The address at the other end of the socket. Runtimes pass it beside the request: Deno's info, Bun's server, Node's message under
 * Hono. A Request itself does not tell where it came from, and to count all clients as one would be worse than an error.
 */
export function webPeer(door: string, request: Request, beside: unknown): string | null | undefined {
  const { remoteAddr, requestIP, server, incoming } = (beside ?? {}) as Beside
  if (incoming?.socket !== undefined) return incoming.socket.remoteAddress
  if (remoteAddr !== undefined) return remoteAddr.hostname
  if (typeof requestIP === 'function') return (beside as BunServer).requestIP(request)?.address
  if (typeof server?.requestIP === 'function') return server.requestIP(request)?.address
  throw new SluiceError('ERR_OPTION', `${door} cannot see where a request comes from here: give it key or peer`, {
    option: 'peer',
  })
}

/** A request's headers, from Node's message where there is one: looking one up in a `Headers` takes longer. */
export function webHeaders(request: Request, beside: unknown): RequestHeaders {
  const { incoming } = (beside ?? {}) as Beside
  return incoming?.rawHeaders === undefined ? request.headers : nodeHeaders(incoming as NodeRequest)
}

interface BunServer {
  requestIP(request: Request): { readonly address: string } | null
}

interface Beside extends Partial<BunServer> {
  readonly incoming?: Partial<NodeRequest>
  readonly remoteAddr?: { readonly hostname?: string }
  readonly server?: BunServer
}

/** Writes a context's fields into a response, or into a copy of one that cannot be changed. Returns the one to send. */
export function withFields<R extends object>(gate: Gate<R, Headers>, context: GateContext<R>, response: Response): Response {
  // Some runtimes make a response's headers when they are read, which costs more than all that is done here.
  if (!gate.hasFields(context)) return response
  try {
    gate.writeFields(context, response.headers)
    return response
  } catch (error) {
    // Headers that came from elsewhere are sealed. The answer to an upgrade cannot be copied either.
    if (!(error instanceof TypeError) || response.status < 200) return response
    const copy = new Response(response.body, response)
    gate.writeFields(context, copy.headers)
    return copy
  }
}

/** Has a response's status decide about the charge. If the client went away before, the charge stays. */
export function refundAfterWeb<R extends object>(
  gate: Gate<R, Headers>,
  context: GateContext<R>,
  request: Request,
  status: number,
): void {
  if (gate.mayRefund(context) && !request.signal.aborted) gate.refundIfFree(context, status)
}
