// Handles a call that the store has failed: counts it, tells listeners, and answers by the fallback.

import { type Call, type Figures, isDecision } from '../core/call.ts'
import type { SluiceError } from '../core/errors.ts'
import type { DecisionFailure, FailureCounts, FailureEvent, FailureReason, ReadFigures } from '../core/guard.ts'
import { uncounted } from '../core/step.ts'
import type { Tally } from '../core/store.ts'
import type { CheckedFailure } from './failure-options.ts'

type Listener = (event: FailureEvent) => void

/** The answer to a refund of units that no stand-in has spent. */
const NOTHING_USED: Figures = [0]

export class Fallbacks {
  readonly #counts = { timeout: 0, refused: 0, unknown: 0, fatal: 0, 'not-asked': 0, recovered: 0 }
  readonly #listeners = { failure: new Set<Listener>(), recovered: new Set<Listener>() }
  readonly #options: CheckedFailure
  /** Answers under `then: 'local'`. */
  readonly #standIn: Tally<'sync'> | undefined

  constructor(options: CheckedFailure, standIn: Tally<'sync'> | undefined) {
    this.#options = options
    this.#standIn = standIn
  }

  /** Returns a copy of the counts. Later failures do not change it. */
  get counts(): FailureCounts {
    return { ...this.#counts }
  }

  /** True if failures have listeners. */
  get isHeard(): boolean {
    return this.#listeners.failure.size > 0
  }

  on(event: 'failure' | 'recovered', listener: Listener): () => void {
    this.#listeners[event].add(listener)
    return () => {
      this.#listeners[event].delete(listener)
    }
  }

  /** Counts and reports a failed call. Returns the fallback's answer, or throws. */
  answer<V>(call: Call, read: ReadFigures<V>, reason: FailureReason, makeError: () => SluiceError): V {
    this.#counts[reason] += 1
    const canAnswer = this.#canAnswer(call)
    // Making an error is slow, and in an outage every call comes here. So the error is made only if somebody gets it.
    if (!canAnswer || this.isHeard) {
      const error = makeError()
      this.#report('failure', { reason, error })
      if (!canAnswer) throw error
    }
    return this.#decide(call, read, reason)
  }

  /** Answers a call that is not for the store. `'allow'` and `'deny'` have spent nothing, so there is nothing to change. */
  answerOwn<V>(call: Call, read: ReadFigures<V>): V {
    return read(this.#standIn?.ask(call) ?? NOTHING_USED, undefined)
  }

  /** Deletes states of the stand-in, which may be left from an earlier outage, together with those of the store. */
  reset(call: Call): void {
    this.#standIn?.ask(call)
  }

  recovered(): void {
    this.#counts.recovered += 1
    this.#report('recovered')
  }

  /**
   * True if the fallback can answer the call. A stand-in answers every call that is not for the store alone. `'allow'` and `'deny'`
   * only answer decisions.
   */
  #canAnswer(call: Call): boolean {
    if (call.source === 'store') return false
    return this.#standIn !== undefined || (this.#options.then !== 'throw' && isDecision(call))
  }

  #decide<V>(call: Call, read: ReadFigures<V>, reason: FailureReason): V {
    const { then, probeEveryMs } = this.#options
    const failure = { reason, then: then as DecisionFailure['then'] }
    if (this.#standIn !== undefined) return read(this.#standIn.ask(call), failure)
    // Nothing is counted. `'allow'` shows all units as free; `'deny'` shows none, and a wait until the store may be asked again.
    const [used, waitMs] = then === 'allow' ? [0, 0] : [Number.MAX_SAFE_INTEGER, probeEveryMs]
    return read(uncounted(call.charges.length, used, waitMs), failure)
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
