// One request at one gate: what callbacks may ask about it, and what the gate has found out so far.

import type { Decision } from '../core/decision.ts'
import type { ClientAddress } from '../http/client-address.ts'
import type { Denial } from '../http/responder.ts'
import type { Gate } from './gate.ts'
import type { RequestHit } from './request-hit.ts'

/** A request on its way through a limiter. */
export interface Visit<R> {
  readonly request: R
  /** Where it comes from. Read when asked for. */
  readonly address: ClientAddress
  /** What a fetch handler is given beside the request; nothing anywhere else. */
  readonly rest: readonly unknown[]
}

export interface DecidedVisit<R> extends Visit<R> {
  /** Whom it counted for. */
  readonly key: string
  readonly decision: Decision
}

/** A request that would be denied. */
export interface ShadowVisit<R> extends Visit<R> {
  /** Whom it counted for; undefined if it was blocked by its address. */
  readonly key: string | undefined
  /** Undefined if it was blocked. */
  readonly decision: Decision | undefined
}

export interface DeniedVisit<R> extends ShadowVisit<R> {
  /** What will be answered. */
  readonly denial: Denial
}

const NONE: readonly never[] = []

/** Under which a request remembers its latest visit. */
const VISIT = Symbol('sluice visit')

interface Visited {
  [VISIT]?: GateVisit | undefined
}

// biome-ignore lint/suspicious/noExplicitAny: a request may pass gates that know it by different types.
export class GateVisit<R extends object = any> implements Visit<R> {
  readonly request: R
  readonly rest: readonly unknown[]
  readonly gate: Gate<R, unknown>
  /** The same request's visit to the gate before this one. */
  readonly before: GateVisit | undefined
  /** What was charged; nothing if the request was denied. */
  hits: readonly RequestHit[] = NONE
  /** The hit that speaks for all: of those that were denied the one with the longest wait, else the one with least room. */
  speaker: RequestHit | undefined
  /** Set if the request goes no further. */
  denial: Denial | undefined
  readonly #holder: Visited
  #address: ClientAddress | undefined

  constructor(gate: Gate<R, unknown>, request: R, rest: readonly unknown[], holder: object) {
    this.gate = gate
    this.request = request
    this.rest = rest
    this.#holder = holder
    // Whatever holds it, a visit is the request's own: one that was never here must not pass as one that was.
    const latest = this.#holder[VISIT]
    this.before = latest?.request === request ? latest : undefined
  }

  get address(): ClientAddress {
    this.#address ??= this.gate.addressOf(this)
    return this.#address
  }

  get key(): string | undefined {
    return this.speaker?.key
  }

  get decision(): Decision | undefined {
    return this.speaker?.decision
  }

  /** Lets later gates know that the request was here. */
  leaveMark(): void {
    this.#holder[VISIT] = this
  }

  /** Where a request may be handled again: the first gate that it came to forgets it, and with it all others. */
  wipeMark(): void {
    if (this.before === undefined) this.#holder[VISIT] = undefined
  }

  /** Whether the request has come to no other gate so far. */
  get isOnly(): boolean {
    return this.before === undefined && this.#holder[VISIT] === this
  }

  /** Whether no other gate that the request has come to has less room left. */
  get isTightest(): boolean {
    for (let visit = this.#holder[VISIT]; visit !== undefined; visit = visit.before) {
      if (visit !== this && visit.#room <= this.#room) return false
    }
    return true
  }

  get #room(): number {
    return this.denial === undefined ? (this.decision?.remaining ?? Number.POSITIVE_INFINITY) : -1
  }
}
