// The guard of one limiter: deadlines, breakers, the fallback, listeners and counts of failures.

import { type Call, type Figures, isDecision } from '../core/call.ts'
import { SluiceError } from '../core/errors.ts'
import type {
  DecisionFailure,
  FailureCounts,
  FailureEvent,
  FailureReason,
  Guard,
  GuardContext,
  ReadFigures,
} from '../core/guard.ts'
import { uncounted } from '../core/step.ts'
import type { PartOutcomes, Tally } from '../core/store.ts'
import { Attempt, type AttemptContext } from './attempt.ts'
import { BreakerView, type Entry } from './breakers.ts'
import { type CheckedFailure, checkFailure } from './failure-options.ts'
import type { StoreHealth } from './store-health.ts'

type Listener = (event: FailureEvent) => void

/** The parts of a store without parts. */
const WHOLE = ['']

/** The answer to a refund of units that no stand-in has spent. */
const NOTHING_USED: Figures = [0]

export class LimiterGuard implements Guard {
  readonly #counts = { timeout: 0, refused: 0, unknown: 0, fatal: 0, 'not-asked': 0, recovered: 0 }
  readonly #listeners = { failure: new Set<Listener>(), recovered: new Set<Listener>() }
  /** Answers under `then: 'local'`. */
  readonly #standIn: Tally<'sync'> | undefined
  readonly #options: CheckedFailure
  readonly #breakers: BreakerView
  readonly #context: AttemptContext

  constructor({ tally, rules, options, makeStandIn }: GuardContext, health: StoreHealth) {
    const checked = checkFailure(options)
    this.#options = checked
    const { timeoutMs } = checked
    this.#context = { tally, timeoutMs, deadlines: health.deadlines(timeoutMs), retryLines: health.retryLines }
    this.#breakers = new BreakerView(health.breakers(checked), tally.partsOf?.bind(tally) ?? (() => WHOLE))
    if (checked.then === 'local') this.#standIn = (checked.standIn ?? health.standIn(makeStandIn)).tally(rules)
  }

  /** Returns a copy of the counts. Later failures do not change it. */
  get counts(): FailureCounts {
    return { ...this.#counts }
  }

  on(event: 'failure' | 'recovered', listener: Listener): () => void {
    this.#listeners[event].add(listener)
    return () => {
      this.#listeners[event].delete(listener)
    }
  }

  ask<V>(call: Call, read: ReadFigures<V>): Promise<V> {
    // A reset also deletes states of the stand-in, which may be left from an earlier outage.
    if (call.operation === 'reset') this.#standIn?.ask(call)
    if (call.source === 'fallback') return this.#askStandIn(call, read)
    const entry = this.#breakers.enter(call)
    if (entry === undefined) return this.fail(call, read, 'not-asked', notAsked)
    return new Promise((resolve, reject) => {
      new GuardedCall({ guard: this, entry, context: this.#context, read, resolve, reject }).start()
    })
  }

  /** Notes that the store answered a call. */
  answered(entry: Entry): void {
    if (this.#breakers.answered(entry)) this.#recovered()
  }

  /** Notes that the store failed a call. */
  unanswered(entry: Entry, outcomes: PartOutcomes): void {
    if (this.#breakers.failed(entry, outcomes)) this.#recovered()
  }

  /** Notes that a call has failed and did not ask the store. */
  left(entry: Entry): void {
    this.#breakers.left(entry)
  }

  /** Counts and reports a failed call. Returns the fallback's answer, or rejects. */
  async fail<V>(call: Call, read: ReadFigures<V>, reason: FailureReason, makeError: () => SluiceError): Promise<V> {
    this.#counts[reason] += 1
    const canFallBack = this.#canFallBack(call)
    // Making an error is slow, and in an outage every call comes here. So the error is made only if somebody gets it.
    if (!canFallBack || this.#listeners.failure.size > 0) {
      const error = makeError()
      this.#report('failure', { reason, error })
      if (!canFallBack) throw error
    }
    return this.#fallback(call, read, reason)
  }

  /** Answers a call that is not for the store. `'allow'` and `'deny'` have spent nothing, so there is nothing to change. */
  async #askStandIn<V>(call: Call, read: ReadFigures<V>): Promise<V> {
    return read(this.#standIn?.ask(call) ?? NOTHING_USED, undefined)
  }

  /**
   * True if the fallback can answer the call. A stand-in answers every call that is not for the store alone. `'allow'` and `'deny'`
   * only answer decisions.
   */
  #canFallBack(call: Call): boolean {
    if (call.source === 'store') return false
    return this.#standIn !== undefined || (this.#options.then !== 'throw' && isDecision(call))
  }

  #fallback<V>(call: Call, read: ReadFigures<V>, reason: FailureReason): V {
    const { then, probeEveryMs } = this.#options
    const failure = { reason, then: then as DecisionFailure['then'] }
    if (this.#standIn !== undefined) return read(this.#standIn.ask(call), failure)
    // Nothing is counted. `'allow'` shows all units as free; `'deny'` shows none, and a wait until the store may be asked again.
    const [used, waitMs] = then === 'allow' ? [0, 0] : [Number.MAX_SAFE_INTEGER, probeEveryMs]
    return read(uncounted(call.charges.length, used, waitMs), failure)
  }

  #recovered(): void {
    this.#counts.recovered += 1
    this.#report('recovered')
  }

  #report(event: 'failure' | 'recovered', detail?: FailureEvent): void {
    for (const listener of this.#listeners[event]) {
      try {
        listener(detail as FailureEvent)
      } catch (error) {
        // An error of a listener must not fail the call.
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }
}

interface GuardedCallOptions<V> {
  readonly guard: LimiterGuard
  readonly entry: Entry
  readonly context: AttemptContext
  readonly read: ReadFigures<V>
  readonly resolve: (answer: V | Promise<V>) => void
  readonly reject: (error: unknown) => void
}

/** An attempt that settles its caller's promise. */
class GuardedCall<V> extends Attempt {
  readonly #options: GuardedCallOptions<V>

  constructor(options: GuardedCallOptions<V>) {
    super(options.entry, options.context)
    this.#options = options
  }

  protected answered(figures: Figures): void {
    const { guard, read, resolve } = this.#options
    guard.answered(this.entry)
    resolve(read(figures, undefined))
  }

  protected failed(reason: FailureReason, error: SluiceError): void {
    const { guard, context, read, resolve } = this.#options
    const { call, parts } = this.entry
    if (this.wasAsked) guard.unanswered(this.entry, context.tally.outcomesOf?.(call) ?? outcomesBy(reason, parts))
    else guard.left(this.entry)
    resolve(guard.fail(call, read, reason, () => error))
  }

  protected threw(error: SluiceError): void {
    this.entry.ended(NO_OUTCOMES)
    this.#options.reject(error)
  }
}

const NO_OUTCOMES: PartOutcomes = { answered: [], failed: [] }

/** Returns the outcomes of a call on `parts`, if the store does not say them. */
function outcomesBy(reason: FailureReason, parts: readonly string[]): PartOutcomes {
  // The store is reachable if it answers with an error. One bad key must not open the breaker for all others.
  return reason === 'fatal' ? { answered: parts, failed: [] } : { answered: [], failed: parts }
}

function notAsked(): SluiceError {
  return new SluiceError('ERR_STORE_REFUSED', 'the store has failed, so it is not asked for a while')
}
