// The limiter: what an application calls. It checks what comes in and hands it to a tally of its store.
// What must stay true: bad input fails before the store is asked, so nothing is written.

import type { TimerClock } from './clock.ts'
import { checkCost, checkUsed } from './cost.ts'
import type { Decision } from './decision.ts'
import { SluiceError, show } from './errors.ts'
import { type FailureCounts, type FailureEvent, GuardedTally } from './failure.ts'
import type { CheckedFailure } from './failure-options.ts'
import { checkKey } from './key.ts'
import { checkOptions } from './options.ts'
import type { Rule } from './rule.ts'
import type { Answer, Mode, Store, Tally } from './store.ts'
import { WaitingLine } from './waiting-line.ts'
import { isWhole } from './whole-numbers.ts'

export interface HitOptions {
  /** How many units to spend; 1 unless said. */
  readonly cost?: number
}

export interface RuleChoice {
  /** Which rule to speak of, by name. Unless said: the first; for `refund`, all of them. */
  readonly rule?: string
}

export interface WaitOptions extends HitOptions {
  /** Ends the wait: the promise rejects with the signal's reason. An attempt that is under way decides first. */
  readonly signal?: AbortSignal
  /** The longest time without room, from the first denial; a wait that is known to be longer is refused at once. */
  readonly maxWaitMs?: number
}

/** One or several rules over a store. `M` says whether the store answers at once or with promises. */
export interface Limiter<M extends Mode = Mode> {
  readonly rules: readonly Rule[]
  /** What its decisions are timed by, as far as this process can tell. */
  readonly clock: TimerClock
  /** What happens when the store fails. A memory store never does. */
  readonly failure: CheckedFailure
  /** Decides and spends. Several rules are one decision: if one denies, none is charged. */
  hit(key: string, options?: HitOptions): Answer<M, Decision>
  /** Decides as `hit` would and spends nothing. A cost of 0 is allowed here. */
  peek(key: string, options?: HitOptions): Answer<M, Decision>
  /** Spends without asking, also past the limit; → units used. */
  inc(key: string, cost?: number, options?: RuleChoice): Answer<M, number>
  /** Units used now. */
  get(key: string, options?: RuleChoice): Answer<M, number>
  /** Puts the count at `used`, counting from now (a window on the clock keeps its boundary); → units used. */
  set(key: string, used: number, options?: RuleChoice): Answer<M, number>
  /** When the key's state ends, in ms since the epoch; 0 if it has none. */
  expiresAt(key: string, options?: RuleChoice): Answer<M, number>
  /** Gives units back on every rule, or on the one that is named, never above full; → units used on the first, or on that one. */
  refund(key: string, cost?: number, options?: RuleChoice): Answer<M, number>
  /** Forgets the key. */
  reset(key: string): Answer<M, void>
  /** Resolves when the hit is allowed and spent. First come, first served for each key. */
  wait(key: string, options?: WaitOptions): Promise<Decision>
  /** Hears of a store that does not answer, at each call that it fails, and of its coming back. → what stops listening. */
  on(event: 'failure', listener: (event: FailureEvent) => void): () => void
  on(event: 'recovered', listener: () => void): () => void
  /** How often the store has failed, by reason, and come back. */
  readonly failures: FailureCounts
  /** Sends waiting callers away and releases what the limiter holds. Calls after it fail with ERR_CLOSED. */
  close(): Answer<M, void>
}

export interface StoreLimiterOptions<M extends Mode> {
  readonly rules: readonly Rule[]
  readonly store: Store<M>
  /** Whether closing the limiter closes the store. */
  readonly ownsStore: boolean
  /** How many callers may wait at once. */
  readonly maxWaiting: number
  readonly failure: CheckedFailure
  /** Stands in for a store that answers with promises, when it does not. */
  readonly standIn: Store<'sync'> | undefined
}

const NO_FAILURES: FailureCounts = { timeout: 0, refused: 0, unknown: 0, fatal: 0, 'not-asked': 0, recovered: 0 }

const HIT_OPTIONS = ['cost'] as const
const RULE_CHOICE = ['rule'] as const
const WAIT_OPTIONS = ['cost', 'signal', 'maxWaitMs'] as const

export class StoreLimiter<M extends Mode> implements Limiter<M> {
  readonly rules: readonly Rule[]
  readonly clock: TimerClock
  readonly failure: CheckedFailure
  readonly #store: Store<M>
  readonly #ownsStore: boolean
  readonly #line: WaitingLine
  readonly #guarded: GuardedTally | undefined
  #tally: Tally<M>

  constructor(options: StoreLimiterOptions<M>) {
    this.rules = checkRules(options.rules)
    this.clock = options.store.clock
    this.failure = Object.freeze(options.failure)
    this.#store = options.store
    this.#ownsStore = options.ownsStore
    this.#tally = options.store.tally(this.rules)
    if (options.store.mode === 'async') {
      const { store, standIn, failure } = options
      const tally = this.#tally as Tally as Tally<'async'>
      this.#guarded = new GuardedTally(tally, standIn?.tally(this.rules), this.rules, store, failure)
      this.#tally = this.#guarded as Tally as Tally<M>
    }
    const hit = (key: string, cost: number) => this.#tally.hit(key, cost)
    this.#line = new WaitingLine(hit, options.store.clock, options.maxWaiting)
  }

  hit(key: string, options?: HitOptions): Answer<M, Decision> {
    checkKey(key)
    return this.#tally.hit(key, options === undefined ? 1 : costOf('hit', options, 1))
  }

  peek(key: string, options?: HitOptions): Answer<M, Decision> {
    checkKey(key)
    return this.#tally.peek(key, options === undefined ? 1 : costOf('peek', options, 0))
  }

  inc(key: string, cost = 1, options?: RuleChoice): Answer<M, number> {
    checkKey(key)
    checkCost(cost, 1)
    return this.#tally.inc(this.#index('inc', options), key, cost)
  }

  get(key: string, options?: RuleChoice): Answer<M, number> {
    checkKey(key)
    return this.#tally.get(this.#index('get', options), key)
  }

  set(key: string, used: number, options?: RuleChoice): Answer<M, number> {
    checkKey(key)
    const index = this.#index('set', options)
    checkUsed(used, this.rules[index].mostUsed)
    return this.#freeing(key, this.#tally.set(index, key, used))
  }

  expiresAt(key: string, options?: RuleChoice): Answer<M, number> {
    checkKey(key)
    return this.#tally.expiresAt(this.#index('expiresAt', options), key)
  }

  refund(key: string, cost = 1, options?: RuleChoice): Answer<M, number> {
    checkKey(key)
    checkCost(cost, 1)
    const index = this.#index('refund', options)
    return this.#freeing(key, this.#tally.refund(key, cost, options?.rule === undefined ? undefined : index))
  }

  reset(key: string): Answer<M, void> {
    checkKey(key)
    return this.#freeing(key, this.#tally.reset(key))
  }

  async wait(key: string, options: WaitOptions = {}): Promise<Decision> {
    checkKey(key)
    checkOptions('wait', options, WAIT_OPTIONS)
    const { cost = 1, signal, maxWaitMs = Number.POSITIVE_INFINITY } = options
    checkCost(cost, 1)
    if (maxWaitMs !== Number.POSITIVE_INFINITY && !isWhole(maxWaitMs, 0)) {
      const message = `maxWaitMs must be a whole number of milliseconds, or Infinity, got ${show(maxWaitMs)}`
      throw new SluiceError('ERR_OPTION', message, { option: 'maxWaitMs', value: maxWaitMs })
    }
    checkSignal(signal)
    return this.#line.join({ key, cost, signal, maxWaitMs })
  }

  on(event: 'failure' | 'recovered', listener: (event: FailureEvent) => void): () => void {
    if (event !== 'failure' && event !== 'recovered') {
      throw new SluiceError('ERR_OPTION', `a limiter tells of 'failure' and 'recovered', not of ${show(event)}`)
    }
    return this.#guarded?.on(event, listener) ?? (() => {})
  }

  get failures(): FailureCounts {
    return this.#guarded?.counts ?? NO_FAILURES
  }

  close(): Answer<M, void> {
    const closed = (): never => {
      throw new SluiceError('ERR_CLOSED', 'the limiter has been closed')
    }
    this.#tally = {
      hit: closed,
      peek: closed,
      inc: closed,
      get: closed,
      set: closed,
      expiresAt: closed,
      refund: closed,
      reset: closed,
    }
    this.#line.disperse(new SluiceError('ERR_CLOSED', 'the limiter was closed while this caller waited'))
    if (this.#ownsStore) return this.#store.close()
    return (this.#store.mode === 'sync' ? undefined : Promise.resolve()) as Answer<M, void>
  }

  /** Those who wait for the key hear of a change that may have made room. */
  #freeing<T>(key: string, change: T): T {
    this.#line.nudge(key, change)
    return change
  }

  #index(method: string, options: RuleChoice | undefined): number {
    if (options === undefined) return 0
    checkOptions(method, options, RULE_CHOICE)
    if (options.rule === undefined) return 0
    const index = this.rules.findIndex((rule) => rule.name === options.rule)
    if (index >= 0) return index
    const names = this.rules.map((rule) => show(rule.name)).join(', ')
    throw new SluiceError('ERR_RULE_NAME', `no rule is called ${show(options.rule)}: there is ${names}`)
  }
}

function costOf(method: string, options: HitOptions, least: 0 | 1): number {
  checkOptions(method, options, HIT_OPTIONS)
  const { cost = 1 } = options
  checkCost(cost, least)
  return cost
}

function checkRules(rules: readonly Rule[]): readonly Rule[] {
  if (rules.length === 0)
    throw new SluiceError('ERR_OPTION', 'rules must hold at least one rule', { option: 'rules', value: rules })
  const names = new Set<string>()
  for (const rule of rules) {
    if (typeof rule?.settle !== 'function') {
      throw new SluiceError(
        'ERR_OPTION',
        `rules takes what fixedWindow(), tokenBucket() and the others make, got ${show(rule)}`,
        {
          option: 'rules',
          value: rule,
        },
      )
    }
    if (names.has(rule.name)) {
      throw new SluiceError('ERR_RULE_NAME', `two rules are called ${show(rule.name)}: give one of them a name of its own`)
    }
    names.add(rule.name)
  }
  return Object.freeze([...rules])
}

/** By its shape: a polyfill's signal serves as well. */
function checkSignal(signal: unknown): void {
  if (signal === undefined) return
  const { aborted, addEventListener, removeEventListener } = (signal ?? {}) as Partial<AbortSignal>
  const isSignal = typeof addEventListener === 'function' && typeof removeEventListener === 'function'
  if (isSignal && typeof aborted === 'boolean') return
  const message = `signal must be an AbortSignal, such as the signal of an AbortController, got ${show(signal)}`
  throw new SluiceError('ERR_OPTION', message, { option: 'signal', value: signal })
}
