// What happens when the store is slow, gone or strange: a deadline for every call, a breaker that stops asking, a stand-in.
// What must stay true: every call settles by its deadline, and nothing that may have been executed is asked again.

import { type Call, type Figures, isDecision } from '../core/call.ts'
import { type ErrorCode, SluiceError, show } from '../core/errors.ts'
import type {
  DecisionFailure,
  FailureCounts,
  FailureEvent,
  FailureReason,
  Guard,
  GuardContext,
  MakeGuard,
  ReadFigures,
} from '../core/guard.ts'
import { uncounted } from '../core/step.ts'
import type { Tally } from '../core/store.ts'
import type { Breaker } from './breaker.ts'
import { Breakers } from './breakers.ts'
import { type Deadlines, sharedDeadlines } from './deadlines.ts'
import { type CheckedFailure, checkFailure } from './failure-options.ts'
import { type RetryLines, sharedRetryLines } from './retry-lines.ts'

/** How long until a call that was certainly not executed is tried again: so long, and twice as long each time. */
const FIRST_RETRY_MS = 10

const REASONS: Readonly<Partial<Record<ErrorCode, FailureReason>>> = {
  ERR_STORE_REFUSED: 'refused',
  ERR_STORE_UNKNOWN: 'unknown',
  ERR_STORE_FATAL: 'fatal',
}

type Otherwise<T> = (reason: FailureReason) => T

type Listener = (event: FailureEvent) => void

/** Guards a limiter's calls. */
export const guard: MakeGuard = (context) => new GuardedTally(context)

export class GuardedTally implements Guard {
  readonly #counts = { timeout: 0, refused: 0, unknown: 0, fatal: 0, 'not-asked': 0, recovered: 0 }
  readonly #tally: Tally<'async'>
  /** Answers under `then: 'local'`. */
  readonly #standIn: Tally<'sync'> | undefined
  readonly #options: CheckedFailure
  readonly #breakers: Breakers
  readonly #deadlines: Deadlines
  readonly #retryLines: RetryLines
  readonly #listeners = { failure: new Set<Listener>(), recovered: new Set<Listener>() }

  constructor({ store, tally, standIn, options }: GuardContext) {
    const checked = checkFailure(options)
    this.#tally = tally
    this.#standIn = checked.then === 'local' ? standIn(checked.standIn) : undefined
    this.#options = checked
    this.#breakers = new Breakers(store, checked, tally.partOf?.bind(tally))
    this.#deadlines = sharedDeadlines(store, checked.timeoutMs)
    this.#retryLines = sharedRetryLines(store)
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
    const { then } = this.#options
    const canAnswer = this.#standIn !== undefined || (then !== 'throw' && isDecision(call))
    return this.#ask(call, read, canAnswer ? (reason) => this.#fallback(call, read, reason) : undefined)
  }

  /** The answer without the store. */
  #fallback<V>(call: Call, read: ReadFigures<V>, reason: FailureReason): V {
    const { then, probeEveryMs } = this.#options
    const failure = { reason, then: then as DecisionFailure['then'] }
    if (this.#standIn !== undefined) return read(this.#standIn.ask(call), failure)
    // Nothing is known and nothing is counted: all is free, or nothing is until the store may be asked again.
    const [used, waitMs] = then === 'allow' ? [0, 0] : [Number.MAX_SAFE_INTEGER, probeEveryMs]
    return read(uncounted(call.charges.length, used, waitMs), failure)
  }

  #ask<T>(call: Call, read: ReadFigures<T>, otherwise?: Otherwise<T>): Promise<T> {
    const key = lineOf(call)
    const breaker = this.#breakers.of(call)
    const era = breaker.enter()
    if (era === undefined) {
      this.#breakers.turnedAway(call)
      return this.#fail('not-asked', notAsked, otherwise)
    }
    return new Promise((resolve) => {
      let isSettled = false
      let refusal: SluiceError | undefined
      let cancelRetry: (() => void) | undefined
      const settle = (answer: Promise<T> | T): void => {
        isSettled = true
        cancelDeadline()
        cancelRetry?.()
        resolve(answer)
      }
      const fail = (reason: FailureReason, error: SluiceError): void => {
        this.#breakers.failed(call, breaker, era)
        settle(this.#fail(reason, () => error, otherwise))
      }
      const cancelDeadline = this.#deadlines.start(() => {
        if (refusal === undefined) fail('timeout', this.#tooLate())
        else fail('refused', refusal)
      })
      const onAnswer = (figures: Figures): void => {
        // Too late: somebody else has answered, and a store that answers too late is no better than one that does not.
        if (isSettled) return
        this.#answered(call, breaker)
        settle(read(figures, undefined))
      }
      /** Waits behind earlier calls on the key, and then tries. The deadline does not wait. */
      const waitInLine = (waitedMs: number, delayMs: number, reason: SluiceError): void => {
        refusal = reason
        cancelRetry = this.#retryLines.join(key, delayMs, reason, (latest) => {
          // Nobody asks again while the breaker is open.
          if (breaker.isOpen) fail('refused', latest)
          else attempt(waitedMs)
        })
      }
      const attempt = (waitedMs: number): void => {
        refusal = undefined
        askNow(call, this.#tally).then(onAnswer, (thrown: unknown) => {
          if (isSettled) return
          const error = sorted(thrown)
          const reason = REASONS[error.code]
          if (reason === 'refused') {
            const nextMs = waitedMs + FIRST_RETRY_MS
            // Nobody asks again when the deadline would come first.
            if (breaker.isOpen || waitedMs + nextMs >= this.#options.timeoutMs) fail(reason, error)
            else waitInLine(waitedMs + nextMs, nextMs, error)
          } else if (reason === 'unknown') {
            fail(reason, error)
          } else if (reason === 'fatal') {
            // A store that says what is wrong is there: one bad key must not close it to all others.
            this.#answered(call, breaker)
            settle(this.#fail(reason, () => error, otherwise))
          } else {
            // Not the store's fault, and nothing that anybody could stand in for.
            if (breaker.isOpen) breaker.failed(era)
            settle(Promise.reject(error))
          }
        })
      }
      const ahead = this.#retryLines.refusalOf(key)
      if (ahead === undefined) attempt(0)
      else waitInLine(0, FIRST_RETRY_MS, ahead)
    })
  }

  #tooLate(): SluiceError {
    return new SluiceError('ERR_STORE_UNKNOWN', `no answer within ${this.#options.timeoutMs} ms: the store may have counted`)
  }

  #answered(call: Call, breaker: Breaker): void {
    if (!this.#breakers.answered(call, breaker)) return
    this.#counts.recovered += 1
    this.#report('recovered')
  }

  #fail<T>(reason: FailureReason, makeError: () => SluiceError, otherwise: Otherwise<T> | undefined): Promise<T> {
    this.#counts[reason] += 1
    // In an outage every call comes by here: an error that nobody would see is not made.
    if (otherwise !== undefined && this.#listeners.failure.size === 0) return Promise.resolve().then(() => otherwise(reason))
    const error = makeError()
    this.#report('failure', { reason, error })
    return otherwise === undefined ? Promise.reject(error) : Promise.resolve().then(() => otherwise(reason))
  }

  #report(event: 'failure' | 'recovered', detail?: FailureEvent): void {
    for (const listener of this.#listeners[event]) {
      try {
        listener(detail as FailureEvent)
      } catch (error) {
        // The listener's problem, not that of the call.
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }
}

/** A store that throws instead of rejecting is treated as if it had rejected. */
function askNow(call: Call, tally: Tally<'async'>): Promise<Figures> {
  try {
    return tally.ask(call)
  } catch (error) {
    return Promise.reject(error)
  }
}

function lineOf({ charges }: Call): string {
  return charges[0].key
}

function notAsked(): SluiceError {
  return new SluiceError('ERR_STORE_REFUSED', 'the store has failed, and is not asked for a while')
}

/** An error that a store has not sorted may mean anything. */
function sorted(thrown: unknown): SluiceError {
  if (thrown instanceof SluiceError) return thrown
  return new SluiceError('ERR_STORE_UNKNOWN', `the store failed, and may have counted: ${messageOf(thrown)}`, { cause: thrown })
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : show(thrown)
}
