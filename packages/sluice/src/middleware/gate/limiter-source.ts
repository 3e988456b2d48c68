// The limiter of a gate: the option `limiter`, one limiter for its rules, or one for each set of rules of a function.

import type { Limiter } from '../../core/limiter.ts'
import type { HoldsOption } from '../../core/reserving.ts'
import type { Timing } from '../../core/store.ts'
import type { Subject } from '../../core/subject.ts'
import { createLimiter } from '../../create-limiter.ts'
import type { AnyStyle } from '../../http/responder.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import type { Rules, RulesByRequest } from './by-request.ts'
import { GateLimiter } from './gate-limiter.ts'
import type { MaybePromise } from './maybe-promise.ts'
import type { AnyOptions } from './options.ts'
import type { GateContext } from './request-context.ts'

type AnyLimiter = Limiter<Timing, Subject>

/** A limiter for all requests, or a function from a request to its limiter. */
export type LimiterSource = GateLimiter | ((context: GateContext) => MaybePromise<GateLimiter>)

export function limiterSource<R>(door: string, options: AnyOptions<R>, styles: readonly AnyStyle[]): LimiterSource {
  const { limiter, rules, failure = {}, retryWithinMs, key, reserve } = options
  const prepare = (limiter: AnyLimiter, keptIn: object): GateLimiter => {
    const prepared = new GateLimiter({ limiter, keptIn, styles })
    if (key === undefined) prepared.checkDefault(door)
    reserve?.check(door, limiter.rules, options)
    return prepared
  }
  if (limiter !== undefined) return prepare(limiter, limiter)
  const { store = memoryStore() } = options
  const holds = reserve?.holds as HoldsOption
  const make = (rules: Rules): GateLimiter =>
    prepare(createLimiter({ rules, store, failure, retryWithinMs, holds }) as AnyLimiter, store)
  return (rules as RulesByRequest<R>).limiters?.(make) ?? make(rules as Rules)
}
