// Makes a limiter from rules, over the store that is given or a memory store of its own.

import { mustBe } from './core/errors.ts'
import type { FailureOptions } from './core/guard.ts'
import { type Limiter, StoreLimiter } from './core/limiter.ts'
import { checkNumber, checkOptions } from './core/options.ts'
import type { HoldsOption } from './core/reserving.ts'
import type { Rule } from './core/rule.ts'
import type { Store, Timing } from './core/store.ts'
import type { SubjectOf } from './core/subject.ts'
import type { MakeWaiting } from './core/waiting.ts'
import { MAX } from './core/whole-numbers.ts'
import { memoryStore } from './stores/memory/memory-store.ts'

export interface LimiterOptions<T extends Timing = Timing, R extends Rule = Rule> {
  /** One rule, or several: one decision over all of them. */
  readonly rules: R | readonly R[]
  /** Keeps the states and gives the time. Default: a memory store of the limiter's own. */
  readonly store?: Store<T>
  /** Deadline and fallback for a store that is slow or fails. A synchronous store has no deadline. Default: the call fails. */
  readonly failure?: FailureOptions
  /** Lets callers `wait` for their turn: `waitingLine()`. */
  readonly waiting?: MakeWaiting
  /** Lets callers `reserve` units that they settle later: `holds()`. */
  readonly holds?: HoldsOption
  /**
   * The longest wait that is worth a retry, in ms. A denial with a longer wait is not `retryable`, and `wait` rejects at once. Default:
   * every wait is.
   */
  readonly retryWithinMs?: number | undefined
}

const OPTIONS = ['rules', 'store', 'failure', 'waiting', 'holds', 'retryWithinMs'] as const

/** Makes a limiter over one or several rules. Its methods return values on a synchronous store, and promises on an asynchronous one. */
export function createLimiter<R extends Rule, T extends Timing = 'sync'>(
  options: LimiterOptions<T, R>,
): Limiter<T, SubjectOf<R>> {
  checkOptions('createLimiter', options, OPTIONS)
  const { store, failure = {}, waiting, holds, retryWithinMs = MAX } = options
  if (store !== undefined && typeof store?.tally !== 'function') {
    throw mustBe('ERR_OPTION', 'store', 'a store, such as memoryStore() makes', store)
  }
  if (waiting !== undefined && typeof waiting !== 'function') {
    throw mustBe('ERR_OPTION', 'waiting', 'waitingLine()', waiting)
  }
  if (holds !== undefined && typeof holds?.open !== 'function') throw mustBe('ERR_OPTION', 'holds', 'holds()', holds)
  checkNumber('retryWithinMs', retryWithinMs, 0, MAX)
  const prepared = <S extends Store>(each: S): S => holds?.prepare(each) ?? each
  const used = prepared(store ?? (memoryStore() as Store as Store<T>))
  return new StoreLimiter<T, SubjectOf<R>>({
    rules: [options.rules].flat() as readonly Rule[],
    store: used,
    ownsStore: store === undefined,
    failure,
    waiting,
    holds,
    retryWithinMs,
    makeStandIn: (known = memoryStore({ clock: used.clock })) => prepared(known),
  })
}
