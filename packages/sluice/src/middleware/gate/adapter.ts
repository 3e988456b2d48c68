// The contract between the gate and a framework: where a request comes from, and how fields of its response are written.

import type { RequestHeaders } from '../../http/peer-address.ts'

export interface Adapter<R extends object, S> {
  // `rest` holds the further arguments of a fetch handler.

  /** The address at the other end of the socket. */
  peer(request: R, rest: readonly unknown[]): string | null | undefined
  headers(request: R, rest: readonly unknown[]): RequestHeaders
  /** An object that belongs to the request. The gate notes on it that the request has passed. */
  holder(request: R): object
  /** Sets a field, whatever it was before. */
  setField(response: S, name: string, value: string): void
  /** True if fields are written before the handler runs: then the first limiter finds none of them. */
  readonly writesFirst: boolean
  /** Adds to a field that is a list. */
  addField(response: S, name: string, value: string): void
}
