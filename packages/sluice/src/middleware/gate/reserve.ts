// The contract between the gate and the option `reserve`. `reserving()` of `sluice/reserving` implements it, so that a bundle without
// holds does not contain it.

import type { Decision } from '../../core/decision.ts'
import type { HitOptions } from '../../core/limiter.ts'
import type { HoldsOption } from '../../core/reserving.ts'
import type { Rule } from '../../core/rule.ts'
import type { Subject } from '../../core/subject.ts'
import type { MaybePromise } from './maybe-promise.ts'
import type { NodeResponse } from './node-adapter.ts'
import type { AnyOptions } from './options.ts'
import type { GateContext } from './request-context.ts'

/** Decides about a request: a limiter, or the option `reserve`. */
export interface Asked {
  hit(subject: Subject, options: HitOptions | undefined, context: GateContext): MaybePromise<Decision>
}

/** The option `reserve` of a door. Its `hit` reserves, and sets `held` of the context if the request passes. */
export interface Reserve<R> extends Asked {
  /** Only a type: the requests that its callbacks take. */
  takes?(request: R): void

  /** The option `holds` of a limiter that a door makes for its rules. */
  readonly holds: HoldsOption
  /** Throws if options contradict each other, if nothing is held, or if no request could pass these rules. */
  check(door: string, rules: readonly Rule[], options: AnyOptions<never>): void
}

/** The units that are held for a request. Its response settles them. */
export interface HeldRequest {
  /** Settles when a response of node:http has been sent, or when its connection breaks. */
  followNode(response: NodeResponse): void
  /** Returns the response to send. It settles when its body has been read or cancelled. */
  followWeb(request: Request, response: Response): MaybePromise<Response>
  /** Settles after a handler that threw. */
  fail(): MaybePromise<void>
  /** Calls the handler, and settles with its response or its error. */
  handleWeb(request: Request, handle: () => MaybePromise<Response>): MaybePromise<Response>
  /** Gives all held units back, because the request does not reach its handler. */
  cancel(): void
}
