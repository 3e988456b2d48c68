// The front door: a limiter from rules as people write them, over the store they name or a memory store of its own.

import { parseRule } from './algorithms/parse-rule.ts'
import { SluiceError, show } from './core/errors.ts'
import { checkFailure, type FailureOptions } from './core/failure-options.ts'
import { type Limiter, StoreLimiter } from './core/limiter.ts'
import { checkOptions } from './core/options.ts'
import type { Rule } from './core/rule.ts'
import type { Mode, Store } from './core/store.ts'
import { isWhole } from './core/whole-numbers.ts'
import { memoryStore } from './stores/memory/memory-store.ts'

export interface LimiterOptions<M extends Mode = Mode> {
  /** One rule, a notation such as `'100/minute'`, or several of either: one decision over all of them. */
  readonly rules: Rule | string | readonly (Rule | string)[]
  /** Where the state lives and whose clock rules. A memory store of its own unless given. */
  readonly store?: Store<M>
  /** How many callers may be in `wait` at once. Default: 10,000. */
  readonly maxWaiting?: number
  /** What happens when a store outside the process is slow or gone. Default: after 500 ms the call fails. */
  readonly failure?: FailureOptions
}

const OPTIONS = ['rules', 'store', 'maxWaiting', 'failure'] as const

const DEFAULT_MAX_WAITING = 10_000

/** A limiter over one or several rules. On a memory store its methods answer at once; on any other, with promises. */
export function createLimiter<M extends Mode = 'sync'>(options: LimiterOptions<M>): Limiter<M> {
  checkOptions('createLimiter', options, OPTIONS)
  const { store, maxWaiting = DEFAULT_MAX_WAITING } = options
  if (store !== undefined && typeof store?.tally !== 'function') {
    throw new SluiceError('ERR_OPTION', `store must be what memoryStore() and the others make, got ${show(store)}`, {
      option: 'store',
      value: store,
    })
  }
  if (!isWhole(maxWaiting, 1)) {
    throw new SluiceError('ERR_OPTION', `maxWaiting must be a whole number of at least 1, got ${show(maxWaiting)}`, {
      option: 'maxWaiting',
      value: maxWaiting,
    })
  }
  const failure = checkFailure(options.failure ?? {})
  const written = Array.isArray(options.rules) ? options.rules : [options.rules]
  const rules = written.flatMap((rule) => (typeof rule === 'string' ? parseRule(rule) : rule))
  return new StoreLimiter<M>({
    rules,
    store: store ?? (memoryStore() as Store<Mode> as Store<M>),
    ownsStore: store === undefined,
    maxWaiting,
    failure,
    standIn: store?.mode === 'async' && failure.then === 'local' ? (failure.standIn ?? standInFor(store)) : undefined,
  })
}

/**
 * One for each store, as its limiters share their counts there: a limiter that goes and comes again finds what it has admitted,
 * and two limiters with the same rules do not admit twice as much.
 */
const standIns = new WeakMap<Store, Store<'sync'>>()

function standInFor(store: Store): Store<'sync'> {
  const known = standIns.get(store)
  if (known !== undefined) return known
  const made = memoryStore({ clock: store.clock })
  standIns.set(store, made)
  return made
}
