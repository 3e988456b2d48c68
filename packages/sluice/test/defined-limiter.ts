// A limiter over the definitions alone, on a clock that the test moves.

import type { Limiter } from '../src/core/limiter.ts'
import type { Rule } from '../src/core/rule.ts'
import type { Store } from '../src/core/store.ts'
import { createLimiter } from '../src/create-limiter.ts'
import { definitionStore } from '../src/testing/definition-store.ts'
import { type FakeClock, fakeClock } from '../src/testing/fake-clock.ts'

export interface DefinedLimiter {
  readonly limiter: Limiter<'sync'>
  readonly clock: FakeClock
  /** Makes another limiter over the same states, as after a deployment that changes the rule's options. */
  readonly withRule: (rule: Rule) => Limiter<'sync'>
}

export function definedLimiter(rule: Rule, clock: FakeClock = fakeClock()): DefinedLimiter {
  const store: Store<'sync'> = definitionStore(clock)
  const withRule = (rules: Rule): Limiter<'sync'> => createLimiter({ rules, store })
  return { limiter: withRule(rule), clock, withRule }
}
