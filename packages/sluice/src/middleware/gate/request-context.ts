// The context of one request at one gate: values for callbacks, and the results of the gate so far.

import type { Decision } from '../../core/decision.ts'
import type { Cost, Subject } from '../../core/subject.ts'
import type { ClientAddress } from '../../http/peer-address.ts'
import type { Denial } from '../../http/responder.ts'
import type { GateLimiter } from './gate-limiter.ts'
import type { HeldRequest } from './reserve.ts'

/** A request on its way through a limiter. */
export interface RequestContext<R> {
  readonly request: R
  /** The client's address. Computed on first read. */
  readonly address: ClientAddress
  /** The arguments of a fetch handler after the request; empty for every other framework. */
  readonly rest: readonly unknown[]
}

export interface DecidedContext<R, S extends Subject = Subject> extends RequestContext<R> {
  /** The key, or object of keys, that the request counted for. */
  readonly key: S
  readonly decision: Decision
}

/** A request that would be denied. */
export interface ShadowContext<R, S extends Subject = Subject> extends RequestContext<R> {
  /** The key, or object of keys, that the request counted for; undefined if it was blocked by its address. */
  readonly key: S | undefined
  /** Undefined if the request was blocked. */
  readonly decision: Decision | undefined
}

export interface DeniedContext<R, S extends Subject = Subject> extends ShadowContext<R, S> {
  /** The response that will be sent. */
  readonly denial: Denial
}

/** Reads a client's address. `rest` is the same as in the context. */
export type AddressOf<R> = (request: R, rest: readonly unknown[]) => ClientAddress

/** Property of the holder for a request's latest context. */
const LATEST = Symbol('sluice')

interface Holder {
  [LATEST]?: GateContext | undefined
}

/** A context whose hit was allowed. */
export type Charged = Pick<GateContext, 'request' | 'cost' | 'hitAtMs'> & {
  readonly limiter: GateLimiter
  readonly key: Subject
  readonly decision: Decision
}

// biome-ignore lint/suspicious/noExplicitAny: a request may pass gates that know it by different types.
export class GateContext<R extends object = any> implements RequestContext<R> {
  /** Identifies the gate. */
  readonly gate: symbol
  readonly request: R
  readonly rest: readonly unknown[]
  /** The same request's context at the gate before this one. */
  readonly before: GateContext | undefined
  key: Subject | undefined = undefined
  cost: Cost | undefined = undefined
  /** The limiter that was asked, and its decision. */
  limiter: GateLimiter | undefined = undefined
  decision: Decision | undefined = undefined
  /** Time of the hit, if it may have to be refunded. */
  hitAtMs = 0
  /** Set if units are held for the request. */
  held: HeldRequest | undefined = undefined
  /** The `RateLimit-Policy` of this gate, once its fields are written. */
  policies: string | undefined = undefined
  /** Set if the request is denied. */
  denial: Denial | undefined = undefined
  readonly #holder: Holder
  readonly #addressOf: AddressOf<R>
  #address: ClientAddress | undefined

  constructor(gate: symbol, request: R, rest: readonly unknown[], holder: object, addressOf: AddressOf<R>) {
    this.gate = gate
    this.request = request
    this.rest = rest
    this.#holder = holder
    this.#addressOf = addressOf
    // Requests may share a holder, so only a context of the same request counts. A denied request has ended: if the same object comes
    // again, as a kept Request may, it is another request.
    const latest = this.#holder[LATEST]
    this.before = latest?.request === request && latest.denial === undefined ? latest : undefined
  }

  get address(): ClientAddress {
    this.#address ??= this.#addressOf(this.request, this.rest)
    return this.#address
  }

  /** Returns this context if its hit was allowed. */
  get charged(): Charged | undefined {
    return this.decision?.allowed === true ? (this as Charged) : undefined
  }

  /** Returns the request's latest context that left a mark. */
  get latest(): GateContext | undefined {
    return this.#holder[LATEST]
  }

  /** Marks the request, so that later gates find this context. */
  leaveMark(): void {
    this.#holder[LATEST] = this
  }

  /** Removes the mark if this was the request's first gate. The same request may then be handled again. */
  wipeMark(): void {
    if (this.before === undefined) this.#holder[LATEST] = undefined
  }
}
