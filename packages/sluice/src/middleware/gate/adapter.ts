// The contract between the gate and a framework: reads the peer of a request, and writes fields of its response.

import type { RequestHeaders } from '../../http/peer-address.ts'

export interface Adapter<R extends object, S> {
  // `rest` contains the further arguments of a fetch handler.

  /** Returns the address at the other end of the socket; false if the runtime does not tell it. */
  peer(request: R, rest: readonly unknown[]): string | null | undefined | false
  headers(request: R, rest: readonly unknown[]): RequestHeaders
  /** Returns an object that belongs to the request. The gate leaves its mark on it. */
  holder(request: R): object
  /** Sets a field, and replaces an earlier value. */
  setField(response: S, name: string, value: string): void
  /** True if fields are written before the handler runs. Then the first limiter finds no fields. */
  readonly writesFirst: boolean
  /** Adds to a field that is a list. */
  addField(response: S, name: string, value: string): void
}
