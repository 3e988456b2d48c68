// The limiter: the object that an application calls. It checks the input, turns it into a call, and asks the store.
// Invariant: bad input fails before the store is asked, so nothing is written.

import type { Call, Figures, Operation } from './call.ts'
import type { TimerClock } from './clock.ts'
import { checkCost, checkUsed } from './cost.ts'
import { type Decision, type DecisionSource, decide, markIfFinal } from './decision.ts'
import { mustBe, SluiceError, show } from './errors.ts'
import type { DecisionFailure, FailureCounts, FailureEvent, FailureOptions, Guard, GuardContext } from './guard.ts'
import { checkKey } from './key.ts'
import type { LimiterContext } from './limiter-context.ts'
import { checkOptions } from './options.ts'
import type {
  HeldUnits,
  Hold,
  HoldsOption,
  PatientReserveOptions,
  ReserveOptions,
  Reserving,
  RunResult,
  WaitingReserveOptions,
} from './reserving.ts'
import type { Rule } from './rule.ts'
import type { Result, Store, Tally, Timing } from './store.ts'
import { type Cost, type Subject, Subjects, unknownRule } from './subject.ts'
import type { Waiting, WaitingOption } from './waiting.ts'
import { MAX } from './whole-numbers.ts'

export interface HitOptions {
  /** Units to spend: one number for all rules, or an object with a number for each rule name. Default: 1. */
  readonly cost?: Cost
}

export interface RuleChoice {
  /** Name of the only rule to read or change. Default: the first rule; for `refund`, every rule. */
  readonly rule?: string
}

export interface RefundOptions extends RuleChoice {
  /**
   * `source` of the decision that spent the units. They are given back there, or nowhere. Default: the store; if it fails, the
   * fallback.
   */
  readonly source?: DecisionSource
}

export interface WaitOptions extends HitOptions {
  /** Ends the wait. The promise rejects with the signal's reason. A hit that is under way is finished first. */
  readonly signal?: AbortSignal
  /**
   * The longest wait after the first denial, in ms. If the wait must be longer, the promise rejects at once. It also does so after a
   * denial that is not `retryable`. Default: Infinity.
   */
  readonly maxWaitMs?: number
}

/** One or several rules over a store. `T` is the store's timing: values or promises. `S` is the type of the subject. */
export interface Limiter<T extends Timing = Timing, S extends Subject = string> {
  readonly rules: readonly Rule[]
  /** The store's clock. For a store outside of the process it is an estimate. */
  readonly clock: TimerClock
  /** Decides and spends. Several rules are one decision: if one denies, none is charged. */
  hit(subject: S, options?: HitOptions): Result<T, Decision>
  /** Returns the decision of a `hit`, and spends nothing. The number 0 is allowed as the cost. */
  peek(subject: S, options?: HitOptions): Result<T, Decision>
  /** Spends without a decision, also past the limit. Returns the units used. */
  inc(subject: S, cost?: number, options?: RuleChoice): Result<T, number>
  /** Returns the units used now. */
  get(subject: S, options?: RuleChoice): Result<T, number>
  /** Sets the units used, as if they were spent now (a window on the clock keeps its end). Returns the units used. */
  set(subject: S, used: number, options?: RuleChoice): Result<T, number>
  /** Returns the time when the state ends, in ms since the epoch; 0 if there is no state. */
  expiresAt(subject: S, options?: RuleChoice): Result<T, number>
  /**
   * Gives units back on every rule, or only on the named rule; at most as many as are used. Returns the units used on the first
   * rule, or on the named rule.
   */
  refund(subject: S, cost?: Cost, options?: RefundOptions): Result<T, number>
  /** Deletes the subject's states on every rule. */
  reset(subject: S): Result<T, void>
  /** Waits until the hit is allowed, and spends. First come, first served for each subject. Needs the option `waiting`. */
  wait(subject: S, options?: WaitOptions): Promise<Decision>
  /**
   * Holds units, and decides as `hit` does. What was used is charged when the hold is settled. Needs the option `holds`. With
   * `maxWaitMs` or `signal` it waits its turn, as `wait` does.
   */
  reserve(subject: S, options: WaitingReserveOptions): Promise<Hold<T>>
  reserve(subject: S, options?: ReserveOptions): Result<T, Hold<T>>
  /**
   * Reserves, and calls `work` with the hold. Settles the hold in full if `work` has not ended it, and cancels it if `work` throws.
   * If the call is denied, `work` is not called.
   */
  run<V>(subject: S, options: PatientReserveOptions, work: (hold: Hold<T>) => V | Promise<V>): Promise<RunResult<V, T>>
  /** Returns the hold with this `token`, which another process may have reserved. */
  openHold(token: string): HeldUnits<T>
  /** Adds a listener for calls that failed in the store, or for the store's recovery. Returns a function that removes it. */
  on(event: 'failure', listener: (event: FailureEvent) => void): () => void
  on(event: 'recovered', listener: () => void): () => void
  /** Number of failed calls for each reason, and number of recoveries. */
  readonly failures: FailureCounts
  /** Closes the limiter. Waiting callers are rejected, resources are released, and later calls fail with ERR_CLOSED. */
  close(): Result<T, void>
}

/** Options of a limiter. */
export interface LimiterOptions<T extends Timing = Timing, R extends Rule = Rule> {
  /** One rule, or several: one decision over all of them. */
  readonly rules: R | readonly R[]
  /** Keeps the states and gives the time. Default: a memory store of the limiter's own. */
  readonly store?: Store<T>
  /** Deadline and fallback for a store that is slow or fails. A synchronous store has no deadline. Default: the call fails. */
  readonly failure?: FailureOptions
  /** Lets callers `wait` for their turn: `waitingLine()`. */
  readonly waiting?: WaitingOption
  /** Lets callers `reserve` units that they settle later: `holds()`. */
  readonly holds?: HoldsOption
  /**
   * The longest wait that is worth a retry, in ms. A denial with a longer wait is not `retryable`, and `wait` rejects at once. Default:
   * every wait is.
   */
  readonly retryWithinMs?: number | undefined
}

const NO_FAILURES: FailureCounts = { timeout: 0, refused: 0, unknown: 0, fatal: 0, 'not-asked': 0, recovered: 0 }

const HIT_OPTIONS = ['cost'] as const
const RULE_CHOICE = ['rule'] as const
const REFUND_OPTIONS = ['rule', 'source'] as const

/** A tally that has the shortcut for hits. */
type QuickTally = Required<Pick<Tally, 'hit'>>

export class StoreLimiter<T extends Timing, S extends Subject> implements Limiter<T, S> {
  readonly rules: readonly Rule[]
  readonly clock: TimerClock
  readonly #store: Store<T>
  readonly #ownsStore: boolean
  readonly #subjects: Subjects
  readonly #tally: Tally<T>
  readonly #guard: Guard<T> | undefined
  readonly #waiting: Waiting | undefined
  readonly #retryWithinMs: number
  readonly #reserving: Reserving<T> | undefined
  /** Set if hits can take the shortcut: keys are plain, and the store has one. */
  #quick: QuickTally | undefined
  #isClosed = false

  /**
   * Invariant: the options have been checked, except the rules. `makeStandIn` makes a memory store on the store's clock. A store that is
   * passed to it is only prepared for this limiter.
   */
  constructor(options: LimiterOptions<T>, store: Store<T>, makeStandIn: GuardContext<T>['makeStandIn']) {
    const { failure = {}, retryWithinMs = MAX } = options
    this.rules = checkRules([options.rules].flat())
    this.clock = store.clock
    this.#store = store
    this.#ownsStore = options.store === undefined
    this.#retryWithinMs = retryWithinMs
    this.#subjects = new Subjects(this.rules)
    this.#tally = store.tally(this.rules)
    // A store that answers with promises needs a guard, and every engine brings one.
    if (store.timing === 'async' && store.guard === undefined) {
      throw mustBe('ERR_OPTION', 'store', 'made with an engine of sluice/engines', store)
    }
    this.#guard = store.guard?.({ tally: this.#tally, rules: this.rules, options: failure, makeStandIn })
    const context: LimiterContext<T> = {
      limiter: this as unknown as Limiter<T>,
      store,
      subjects: this.#subjects,
      waiting: undefined,
      isClosed: () => this.#isClosed,
      ask: (call, read) => this.#ask(call, read),
      decide: (call, figures, failure) => this.#read(call, figures, failure),
    }
    this.#waiting = options.waiting?.open(context)
    context.waiting = this.#waiting
    this.#reserving = options.holds?.open(context)
    // Hits on a rule that has nothing but holds are refused.
    if (this.rules.some(({ isHeld }) => isHeld)) this.#holds()
    else if (this.#guard === undefined && this.#subjects.arePlain && this.#tally.hit !== undefined)
      this.#quick = marking(this.#tally as QuickTally, retryWithinMs)
  }

  // This method stays short, so that V8 compiles it together with the store's shortcut.
  hit(subject: S, options?: HitOptions): Result<T, Decision> {
    const quick = this.#quick
    if (quick === undefined || options !== undefined) return this.#hitWith(subject, options)
    checkKey(subject)
    return quick.hit(subject, 1) as Result<T, Decision>
  }

  peek(subject: S, options?: HitOptions): Result<T, Decision> {
    return this.#decide(this.#callOf('peek', subject, options, 0))
  }

  inc(subject: S, cost = 1, options?: RuleChoice): Result<T, number> {
    checkCost(cost, 1)
    return this.#number(this.#callOn('inc', subject, options, cost))
  }

  get(subject: S, options?: RuleChoice): Result<T, number> {
    return this.#number(this.#callOn('get', subject, options, 0))
  }

  set(subject: S, used: number, options?: RuleChoice): Result<T, number> {
    const call = this.#callOn('set', subject, options, used)
    checkUsed(used, this.rules[call.charges[0].rule].mostUsed)
    return this.#freeing(call, this.#number(call))
  }

  expiresAt(subject: S, options?: RuleChoice): Result<T, number> {
    return this.#number(this.#callOn('expiresAt', subject, options, 0))
  }

  refund(subject: S, cost: Cost = 1, options: RefundOptions = {}): Result<T, number> {
    checkOptions('refund', options, REFUND_OPTIONS)
    const { rule, source } = options
    const index = this.#index(rule)
    const all = this.#subjects.charges(subject, cost, 1)
    const charges = rule === undefined ? all : all.filter((charge) => charge.rule === index)
    if (charges.length === 0) throw mustBe('ERR_COST', 'cost', `at least 1 for ${show(rule)}`, 0)
    // Only a guard has a fallback.
    if (source !== undefined && source !== 'store' && (source !== 'fallback' || this.#guard === undefined)) {
      throw mustBe('ERR_OPTION', 'source', 'the source of a decision of this limiter', source)
    }
    const call: Call = { operation: 'refund', charges, source }
    return this.#freeing(call, this.#number(call))
  }

  reset(subject: S): Result<T, void> {
    const call = this.#callOf('reset', subject, { cost: 0 }, 0)
    return this.#freeing(
      call,
      this.#ask(call, () => undefined),
    ) as Result<T, void>
  }

  async wait(subject: S, options: WaitOptions = {}): Promise<Decision> {
    return given(this.#waiting, 'waiting', 'waitingLine').join(subject, options)
  }

  reserve(subject: S, options: WaitingReserveOptions): Promise<Hold<T>>
  reserve(subject: S, options?: ReserveOptions): Result<T, Hold<T>>
  reserve(subject: S, options: PatientReserveOptions = {}): Result<T, Hold<T>> | Promise<Hold<T>> {
    return this.#holds().reserve(subject, options)
  }

  async run<V>(subject: S, options: PatientReserveOptions, work: (hold: Hold<T>) => V | Promise<V>): Promise<RunResult<V, T>> {
    return this.#holds().run(subject, options, work)
  }

  openHold(token: string): HeldUnits<T> {
    return this.#holds().openHold(token)
  }

  on(event: 'failure' | 'recovered', listener: (event: FailureEvent) => void): () => void {
    if (event !== 'failure' && event !== 'recovered') {
      throw mustBe('ERR_OPTION', 'event', "'failure' or 'recovered'", event)
    }
    return this.#guard?.on(event, listener) ?? (() => {})
  }

  get failures(): FailureCounts {
    return this.#guard?.counts ?? NO_FAILURES
  }

  close(): Result<T, void> {
    this.#isClosed = true
    this.#quick = undefined
    this.#waiting?.close()
    if (this.#ownsStore) return this.#store.close()
    return (this.#store.timing === 'sync' ? undefined : Promise.resolve()) as Result<T, void>
  }

  #holds(): Reserving<T> {
    return given(this.#reserving, 'holds', 'holds')
  }

  #hitWith(subject: S, options: HitOptions | undefined): Result<T, Decision> {
    const quick = this.#quick
    if (quick !== undefined && options !== undefined) {
      checkKey(subject)
      checkOptions('hit', options, HIT_OPTIONS)
      const { cost = 1 } = options
      if (typeof cost !== 'object' || cost === null) {
        checkCost(cost, 1)
        return quick.hit(subject, cost) as Result<T, Decision>
      }
    }
    return this.#decide(this.#callOf('hit', subject, options, 1))
  }

  /** Makes a call with a charge for each rule whose cost is above 0. */
  #callOf(operation: Operation, subject: Subject, options: HitOptions | undefined, least: 0 | 1): Call {
    if (options !== undefined) checkOptions(operation, options, HIT_OPTIONS)
    return { operation, charges: this.#subjects.charges(subject, options?.cost, least) }
  }

  /** Makes a call with the charge of one rule. */
  #callOn(operation: Operation, subject: Subject, options: RuleChoice | undefined, amount: number): Call {
    if (options !== undefined) checkOptions(operation, options, RULE_CHOICE)
    return { operation, charges: [this.#subjects.charge(subject, this.#index(options?.rule), amount)] }
  }

  /** Returns the index of the named rule; 0 without a name. */
  #index(name: string | undefined): number {
    if (name === undefined) return 0
    const index = this.rules.findIndex((rule) => rule.name === name)
    if (index >= 0) return index
    throw unknownRule(this.rules, `no rule is called ${show(name)}:`, { option: 'rule', value: name })
  }

  #decide(call: Call): Result<T, Decision> {
    return this.#ask(call, (figures, failure) => this.#read(call, figures, failure))
  }

  #read({ charges }: Call, figures: Figures, failure: DecisionFailure | undefined): Decision {
    const rules = charges.length === this.rules.length ? this.rules : charges.map(({ rule }) => this.rules[rule])
    return markIfFinal(decide(rules, figures, failure), this.#retryWithinMs)
  }

  #number(call: Call): Result<T, number> {
    return this.#ask(call, firstFigure)
  }

  #ask<V>(call: Call, read: (figures: Figures, failure?: DecisionFailure) => V): Result<T, V> {
    if (this.#isClosed) throw new SluiceError('ERR_CLOSED', 'the limiter has been closed')
    this.#reserving?.check(call)
    if (this.#guard !== undefined) return this.#guard.ask(call, read)
    return read(this.#tally.ask(call) as Figures) as Result<T, V>
  }

  /** Tells the waiting lines about a change that may free units, and returns the change. */
  #freeing<V>(call: Call, change: V): V {
    this.#waiting?.nudge(call, change)
    return change
  }
}

/** Returns a shortcut that marks final decisions; the tally itself if there are none. */
function marking(tally: QuickTally, retryWithinMs: number): QuickTally {
  return retryWithinMs === MAX ? tally : { hit: (key, cost) => markIfFinal(tally.hit(key, cost), retryWithinMs) }
}

/** Returns the part of a limiter that an option gives it. Throws ERR_OPTION without the option. */
function given<P>(part: P | undefined, option: 'holds' | 'waiting', maker: string): P {
  if (part !== undefined) return part
  throw new SluiceError('ERR_OPTION', `this needs createLimiter({ rules, ${option}: ${maker}() })`, { option })
}

function firstFigure(figures: Figures): number {
  return figures[0]
}

function checkRules(rules: readonly Rule[]): readonly Rule[] {
  if (rules.length === 0) throw mustBe('ERR_OPTION', 'rules', 'at least one rule', rules)
  const names = new Set<string>()
  for (const rule of rules) {
    if (typeof rule?.settle !== 'function') {
      throw mustBe('ERR_OPTION', 'rules', 'made by fixedWindow(), parseRule() or others', rule)
    }
    if (names.has(rule.name)) {
      throw new SluiceError('ERR_RULE_NAME', `two rules are called ${show(rule.name)}: give one another name`)
    }
    names.add(rule.name)
  }
  return Object.freeze([...rules])
}
