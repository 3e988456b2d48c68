// What node:http and all that stands on it have in common: Express, Koa, Nest and bare servers, over HTTP/1 and HTTP/2.

import type { RequestHeaders } from '../http/client-address.ts'
import type { Frame } from './frame.ts'
import type { Gate } from './gate.ts'
import { isPromise, type Soon } from './soon.ts'
import type { GateVisit } from './visit.ts'

/** As much of an `IncomingMessage` as is needed. */
export interface NodeRequest {
  readonly socket: { readonly remoteAddress?: string | undefined }
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Names and values by turns, as they came. */
  readonly rawHeaders?: readonly string[]
}

/** As much of a `ServerResponse` as is needed. */
export interface NodeResponse {
  statusCode: number
  readonly writableEnded: boolean
  getHeader(name: string): number | string | readonly string[] | undefined
  setHeader(name: string, value: string): unknown
  end(body: string): unknown
  once(event: 'close', listener: () => void): unknown
}

/** How the fields of a response are written. */
export const nodeFields: Pick<Frame<object, NodeResponse>, 'writesFirst' | 'setField' | 'addField'> = {
  writesFirst: true,
  setField: (response, name, value) => {
    response.setHeader(name, value)
  },
  addField: (response, name, value) => {
    const there = response.getHeader(name)
    response.setHeader(name, there === undefined ? value : `${there}, ${value}`)
  },
}

/**
 * Headers as they came, to look one up: Node makes an object of all of them the first time that `headers` is read. Whatever stands in
 * for Node's request may have nothing but that.
 */
export function headersOf(request: NodeRequest): RequestHeaders {
  const { rawHeaders } = request
  return rawHeaders === undefined || rawHeaders.length === 0 ? request.headers : new RawHeaders(rawHeaders)
}

class RawHeaders {
  readonly #raw: readonly string[]

  constructor(raw: readonly string[]) {
    this.#raw = raw
  }

  get(name: string): string | undefined {
    const raw = this.#raw
    let value: string | undefined
    for (let i = 0; i < raw.length; i += 2) {
      if (raw[i].length !== name.length || raw[i].toLowerCase() !== name) continue
      value = value === undefined ? raw[i + 1] : `${value}, ${raw[i + 1]}`
    }
    return value
  }
}

/**
 * The list of raw headers remembers where a request was: it is each request's own, and a plain list. A property on the request itself
 * takes 4 µs once its prototype has been changed, as Express does with each.
 */
export function holderOf(request: NodeRequest): object {
  return request.rawHeaders ?? request
}

export const nodeFrame: Frame<NodeRequest, NodeResponse> = {
  peer: ({ socket }) => socket.remoteAddress,
  headers: headersOf,
  holder: holderOf,
  ...nodeFields,
}

/** Answers a request that is denied, and calls `next` for any other; with the error, if there is no saying. */
export function passOn<R extends NodeRequest>(
  gate: Gate<R, NodeResponse>,
  request: R,
  response: NodeResponse,
  next: (error?: unknown) => void,
): void {
  let entered: Soon<GateVisit<R>>
  try {
    entered = gate.enter(request)
  } catch (error) {
    next(error)
    return
  }
  if (isPromise(entered)) {
    entered.then((visit) => {
      if (answer(gate, visit, response)) next()
    }, next)
  } else if (answer(gate, entered, response)) next()
}

/** Writes what a visit has to say, all of the response if the request was denied; → whether it passes. */
export function answer<R extends object>(gate: Gate<R, NodeResponse>, visit: GateVisit<R>, response: NodeResponse): boolean {
  gate.writeFields(visit, response)
  const { denial } = visit
  if (denial === undefined) {
    settleWith(gate, visit, response)
    return true
  }
  response.statusCode = denial.status
  response.end(denial.body)
  return false
}

/** Has a response decide about the charge once it has gone. If the client went away before there was one, the charge stays. */
export function settleWith<R extends object>(gate: Gate<R, unknown>, visit: GateVisit<R>, response: NodeResponse): void {
  if (!gate.mustSettle(visit)) return
  response.once('close', () => {
    if (response.writableEnded) gate.settle(visit, response.statusCode)
  })
}
