// The guard of one limiter over an asynchronous store: deadlines, breakers and the fallback.

import type { Call, Figures } from '../core/call.ts'
import type { SluiceError } from '../core/errors.ts'
import type { FailureCounts, FailureEvent, FailureReason, Guard, GuardContext, ReadFigures } from '../core/guard.ts'
import type { PartOutcomes } from '../core/store.ts'
import { Attempt, type AttemptContext } from './attempt.ts'
import { BreakerView, type Entry, NO_OUTCOMES, notAsked, outcomesBy, WHOLE } from './breakers.ts'
import { checkFailure } from './failure-options.ts'
import { Fallbacks } from './fallbacks.ts'
import type { StoreHealth } from './store-health.ts'

export class LimiterGuard implements Guard<'async'> {
  readonly #fallbacks: Fallbacks
  readonly #breakers: BreakerView
  readonly #context: AttemptContext

  constructor(context: GuardContext<'async'>, health: StoreHealth) {
    const { tally, options } = context
    const checked = checkFailure(options)
    const { timeoutMs } = checked
    this.#context = { tally, timeoutMs, deadlines: health.deadlines(timeoutMs), retryLines: health.retryLines }
    this.#breakers = new BreakerView(health.breakers(checked), tally.partsOf?.bind(tally) ?? (() => WHOLE))
    this.#fallbacks = new Fallbacks(checked, health.standInTally(context, checked))
  }

  get counts(): FailureCounts {
    return this.#fallbacks.counts
  }

  on(event: 'failure' | 'recovered', listener: (event: FailureEvent) => void): () => void {
    return this.#fallbacks.on(event, listener)
  }

  ask<V>(call: Call, read: ReadFigures<V>): Promise<V> {
    if (call.operation === 'reset') this.#fallbacks.reset(call)
    if (call.source === 'fallback') return this.#answerOwn(call, read)
    const entry = this.#breakers.enter(call)
    if (entry === undefined) return this.fail(call, read, 'not-asked', notAsked)
    if (this.#fallbacks.isHeard) return this.#askHeard(entry, read)
    return new Promise((resolve, reject) => {
      new GuardedCall({ guard: this, entry, context: this.#context, read, resolve, reject, hear: undefined }).start()
    })
  }

  /**
   * Like the end of `ask`, for a limiter with listeners. A timer runs in the async context of another call: calls share deadlines. `await`
   * returns to the context of this call, and the listeners are called there. It takes one more promise.
   */
  async #askHeard<V>(entry: Entry, read: ReadFigures<V>): Promise<V> {
    const answer = await new Promise<V | HeardFailure>((resolve, reject) => {
      new GuardedCall({ guard: this, entry, context: this.#context, read, resolve, reject, hear: resolve }).start()
    })
    if (!(answer instanceof HeardFailure)) return answer
    return this.fail(entry.call, read, answer.reason, () => answer.error)
  }

  /** Notes that the store answered a call. */
  answered(entry: Entry): void {
    if (this.#breakers.answered(entry)) this.#fallbacks.recovered()
  }

  /** Notes that the store failed a call. */
  unanswered(entry: Entry, outcomes: PartOutcomes): void {
    if (this.#breakers.failed(entry, outcomes)) this.#fallbacks.recovered()
  }

  /** Notes that a call has failed and did not ask the store. */
  left(entry: Entry): void {
    this.#breakers.left(entry)
  }

  /** Counts and reports a failed call. Returns the fallback's answer, or rejects. */
  async fail<V>(call: Call, read: ReadFigures<V>, reason: FailureReason, makeError: () => SluiceError): Promise<V> {
    return this.#fallbacks.answer(call, read, reason, makeError)
  }

  async #answerOwn<V>(call: Call, read: ReadFigures<V>): Promise<V> {
    return this.#fallbacks.answerOwn(call, read)
  }
}

/** A failure that listeners have not been told of yet. */
class HeardFailure {
  readonly reason: FailureReason
  readonly error: SluiceError

  constructor(reason: FailureReason, error: SluiceError) {
    this.reason = reason
    this.error = error
  }
}

interface GuardedCallOptions<V> {
  readonly guard: LimiterGuard
  readonly entry: Entry
  readonly context: AttemptContext
  readonly read: ReadFigures<V>
  readonly resolve: (answer: V | Promise<V>) => void
  readonly reject: (error: unknown) => void
  /** Takes a failure instead of `resolve`, if the limiter has listeners. */
  readonly hear: ((failure: HeardFailure) => void) | undefined
}

/** An attempt that settles its caller's promise. */
class GuardedCall<V> extends Attempt {
  readonly #options: GuardedCallOptions<V>

  constructor(options: GuardedCallOptions<V>) {
    super(options.entry, options.context)
    this.#options = options
  }

  protected answered(figures: Figures): void {
    const { guard, read, resolve, reject } = this.#options
    guard.answered(this.entry)
    // The store may be handing out the answers to other calls, which must get theirs.
    try {
      resolve(read(figures, undefined))
    } catch (error) {
      reject(error)
    }
  }

  protected failed(reason: FailureReason, error: SluiceError): void {
    const { guard, context, read, resolve, hear } = this.#options
    const { call, parts } = this.entry
    if (this.wasAsked) guard.unanswered(this.entry, context.tally.outcomesOf?.(call) ?? outcomesBy(reason, parts))
    else guard.left(this.entry)
    if (hear === undefined) resolve(guard.fail(call, read, reason, () => error))
    else hear(new HeardFailure(reason, error))
  }

  protected threw(error: SluiceError): void {
    this.entry.ended(NO_OUTCOMES)
    this.#options.reject(error)
  }
}
