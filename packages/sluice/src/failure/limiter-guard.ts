// The guard of one limiter: a deadline for every call, a breaker that stops asking, a fallback, listeners and counts.

import { type Call, isDecision } from '../core/call.ts'
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
import type { Tally } from '../core/store.ts'
import { Attempt } from './attempt.ts'
import { BreakerView, type Entry } from './breakers.ts'
import { type CheckedFailure, checkFailure } from './failure-options.ts'
import type { StoreHealth } from './store-health.ts'

type Listener = (event: FailureEvent) => void

/** The only part of a store that has no parts. */
const WHOLE = ['']

export class LimiterGuard implements Guard {
  readonly #counts = { timeout: 0, refused: 0, unknown: 0, fatal: 0, 'not-asked': 0, recovered: 0 }
  readonly #listeners = { failure: new Set<Listener>(), recovered: new Set<Listener>() }
  readonly #tally: Tally<'async'>
  /** Answers under `then: 'local'`. */
  readonly #standIn: Tally<'sync'> | undefined
  readonly #options: CheckedFailure
  readonly #breakers: BreakerView
  readonly #health: StoreHealth

  constructor({ tally, rules, options, makeStandIn }: GuardContext, health: StoreHealth) {
    const checked = checkFailure(options)
    this.#tally = tally
    this.#options = checked
    this.#health = health
    this.#breakers = new BreakerView(health.breakers(checked), tally.partsOf?.bind(tally) ?? (() => WHOLE))
    if (checked.then === 'local') this.#standIn = (checked.standIn ?? health.standIn(makeStandIn)).tally(rules)
  }

  /** A copy: later failures do not change it. */
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
    // A key that is forgotten is forgotten everywhere, also by a stand-in that remembers it from an earlier outage.
    if (call.operation === 'reset') this.#standIn?.ask(call)
    const entry = this.#breakers.enter(call)
    if (entry === undefined) return this.#fail(call, read, 'not-asked', notAsked)
    return new Promise((resolve, reject) => {
      new Attempt({
        entry,
        tally: this.#tally,
        timeoutMs: this.#options.timeoutMs,
        deadlines: this.#health.deadlines(this.#options.timeoutMs),
        retryLines: this.#health.retryLines,
        end: {
          answered: (figures) => {
            this.#answered(entry)
            resolve(read(figures, undefined))
          },
          failed: (reason, error, isStoreDown) => {
            const parts = this.#tally.failedPartsOf?.(call)
            // A store that says what is wrong is there: one bad key must not close it to all others.
            if (isStoreDown) this.#breakers.failed(entry, parts)
            else this.#answered(entry, parts)
            resolve(this.#fail(call, read, reason, () => error))
          },
          threw: (error) => {
            if (entry.isOpen) entry.failed()
            reject(error)
          },
        },
      }).start()
    })
  }

  #answered(entry: Entry, parts?: readonly string[]): void {
    if (!this.#breakers.answered(entry, parts)) return
    this.#counts.recovered += 1
    this.#report('recovered')
  }

  async #fail<V>(call: Call, read: ReadFigures<V>, reason: FailureReason, makeError: () => SluiceError): Promise<V> {
    this.#counts[reason] += 1
    const canFallBack = this.#canFallBack(call)
    // In an outage every call comes by here: an error that nobody would see is not made.
    if (!canFallBack || this.#listeners.failure.size > 0) {
      const error = makeError()
      this.#report('failure', { reason, error })
      if (!canFallBack) throw error
    }
    return this.#fallback(call, read, reason)
  }

  /** A decision can be assumed. Only a stand-in can tell a number. */
  #canFallBack(call: Call): boolean {
    return this.#standIn !== undefined || (this.#options.then !== 'throw' && isDecision(call))
  }

  #fallback<V>(call: Call, read: ReadFigures<V>, reason: FailureReason): V {
    const { then, probeEveryMs } = this.#options
    const failure = { reason, then: then as DecisionFailure['then'] }
    if (this.#standIn !== undefined) return read(this.#standIn.ask(call), failure)
    // Nothing is known and nothing is counted: all is free, or nothing is until the store may be asked again.
    const [used, waitMs] = then === 'allow' ? [0, 0] : [Number.MAX_SAFE_INTEGER, probeEveryMs]
    return read(uncounted(call.charges.length, used, waitMs), failure)
  }

  #report(event: 'failure' | 'recovered', detail?: FailureEvent): void {
    for (const listener of this.#listeners[event]) {
      try {
        listener(detail as FailureEvent)
      } catch (error) {
        // The listener's error must not become the call's.
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }
}

function notAsked(): SluiceError {
  return new SluiceError('ERR_STORE_REFUSED', 'the store has failed, and is not asked for a while')
}
