// What servers of the web's own Request and Response have in common: Hono, and fetch handlers anywhere.

import { SluiceError } from '../core/errors.ts'
import type { RequestHeaders } from '../http/client-address.ts'
import type { Frame } from './frame.ts'
import type { Gate } from './gate.ts'
import { type NodeRequest, headersOf as nodeHeadersOf } from './node-frame.ts'
import type { GateVisit } from './visit.ts'

/** How the fields of a Response are written. */
export const webFields: Pick<Frame<object, Headers>, 'writesFirst' | 'setField' | 'addField'> = {
  writesFirst: false,
  setField: (headers, name, value) => headers.set(name, value),
  addField: (headers, name, value) => headers.append(name, value),
}

/**
 * The address at the other end of the socket, from what runtimes hand over beside a request: Deno's info, Bun's server, Node's
 * message under Hono. A Request itself does not say where it came from, and all clients counted as one would be worse than an error.
 */
export function peerOf(of: string, request: Request, beside: unknown): string | null | undefined {
  const { remoteAddr, requestIP, server, incoming } = (beside ?? {}) as Beside
  if (incoming?.socket !== undefined) return incoming.socket.remoteAddress
  if (remoteAddr !== undefined) return remoteAddr.hostname
  if (typeof requestIP === 'function') return (beside as BunServer).requestIP(request)?.address
  if (typeof server?.requestIP === 'function') return server.requestIP(request)?.address
  throw new SluiceError('ERR_OPTION', `${of} cannot see where a request comes from here: give it a key, or address.peer`)
}

/** A request's headers: from Node's message where there is one, since looking up one in a `Headers` takes longer. */
export function headersOf(request: Request, beside: unknown): RequestHeaders {
  const { incoming } = (beside ?? {}) as Beside
  return incoming?.rawHeaders === undefined ? request.headers : nodeHeadersOf(incoming as NodeRequest)
}

interface BunServer {
  requestIP(request: Request): { readonly address: string } | null
}

interface Beside extends Partial<BunServer> {
  readonly incoming?: Partial<NodeRequest>
  readonly remoteAddr?: { readonly hostname?: string }
  readonly server?: BunServer
}

/** Writes a visit's fields into a response, or into a copy of one that does not let itself be changed; → the one to send. */
export function withFields<R extends object>(gate: Gate<R, Headers>, visit: GateVisit<R>, response: Response): Response {
  // A response's headers are made when they are read, in some runtimes, and cost more than all that is done here.
  if (!gate.hasFields(visit)) return response
  try {
    gate.writeFields(visit, response.headers)
    return response
  } catch (error) {
    // Headers that came from elsewhere are sealed; the answer to an upgrade cannot be copied either.
    if (!(error instanceof TypeError) || response.status < 200) return response
    const copy = new Response(response.body, response)
    gate.writeFields(visit, copy.headers)
    return copy
  }
}

/** Has a response's status decide about the charge. If the client went away before there was one, the charge stays. */
export function settleWith<R extends object>(
  gate: Gate<R, Headers>,
  visit: GateVisit<R>,
  request: Request,
  status: number,
): void {
  if (gate.mustSettle(visit) && !request.signal.aborted) gate.settle(visit, status)
}
