// What a gate has to know about a framework: where a request comes from, and how to write fields of its response.

import type { RequestHeaders } from '../http/client-address.ts'

export interface Frame<R extends object, S> {
  // `rest` is what a fetch handler is given beside the request.

  /** The address at the other end of the socket. */
  peer(request: R, rest: readonly unknown[]): string | null | undefined
  headers(request: R, rest: readonly unknown[]): RequestHeaders
  /** The object of the request's own that remembers which limiters it has passed. */
  holder(request: R): object
  /** Sets a field, whatever it was before. */
  setField(response: S, name: string, value: string): void
  /** Whether fields are written before a handler has run: then the first limiter finds none of them. */
  readonly writesFirst: boolean
  /** Adds to a field that is a list. */
  addField(response: S, name: string, value: string): void
}
