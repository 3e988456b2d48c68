// Makes a limiter from rules, over the store that is given or a memory store of its own.

import { mustBe } from './core/errors.ts'
import { type Limiter, type LimiterOptions, StoreLimiter } from './core/limiter.ts'
import { checkNumber, checkOptions } from './core/options.ts'
import type { Rule } from './core/rule.ts'
import type { Store, Timing } from './core/store.ts'
import type { SubjectOf } from './core/subject.ts'
import { MAX } from './core/whole-numbers.ts'
import { memoryStore } from './stores/memory/memory-store.ts'

const OPTIONS = ['rules', 'store', 'failure', 'waiting', 'holds', 'retryWithinMs'] as const

/** Makes a limiter over one or several rules. Its methods return values on a synchronous store, and promises on an asynchronous one. */
export function createLimiter<R extends Rule, T extends Timing = 'sync'>(
  options: LimiterOptions<T, R>,
): Limiter<T, SubjectOf<R>> {
  checkOptions('createLimiter', options, OPTIONS)
  // The copy reads each getter once.
  const given = { ...options }
  const { holds, retryWithinMs = MAX } = given
  checkPart('store', given.store, 'tally', 'a store, such as memoryStore() makes')
  checkPart('waiting', given.waiting, 'open', 'waitingLine()')
  checkPart('holds', holds, 'open', 'holds()')
  checkNumber('retryWithinMs', retryWithinMs, 0, MAX)
  const prepared = <S extends Store>(each: S): S => holds?.prepare(each) ?? each
  const store = prepared(given.store ?? (memoryStore() as Store as Store<T>))
  return new StoreLimiter<T, SubjectOf<R>>(given, store, (known = memoryStore({ clock: store.clock })) => prepared(known))
}

/** Throws ERR_OPTION unless an option is undefined or an object with this method. */
function checkPart(option: 'store' | 'waiting' | 'holds', part: object | undefined, method: string, need: string): void {
  const isPart = part === undefined || typeof (part as Record<string, unknown> | null)?.[method] === 'function'
  if (!isPart) throw mustBe('ERR_OPTION', option, need, part)
}
