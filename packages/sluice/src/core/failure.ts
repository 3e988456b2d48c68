// What happens when the store is slow, gone or strange: a deadline for every call, a breaker that stops asking, a stand-in.
// What must stay true: every call settles by its deadline, and nothing that may have been executed is asked again.

import type { Breaker } from './breaker.ts'
import { Breakers } from './breakers.ts'
import { type Deadlines, sharedDeadlines } from './deadlines.ts'
import { type Decision, decide, type SingleDecision } from './decision.ts'
import { type ErrorCode, SluiceError, show } from './errors.ts'
import type { CheckedFailure } from './failure-options.ts'
import { type RetryLines, sharedRetryLines } from './retry-lines.ts'
import type { Rule } from './rule.ts'
import type { Store, Tally } from './store.ts'

/** Why the store did not answer: in time, at all, or because it was not asked. */
export type FailureReason = 'timeout' | 'refused' | 'unknown' | 'fatal' | 'not-asked'

export interface FailureEvent {
  readonly reason: FailureReason
  readonly error: SluiceError
}

/** What happened so far. */
export type FailureCounts = Readonly<Record<FailureReason | 'recovered', number>>

/** How long until a call that was certainly not executed is tried again: so long, and twice as long each time. */
const FIRST_RETRY_MS = 10

const REASONS: Readonly<Partial<Record<ErrorCode, FailureReason>>> = {
  ERR_STORE_REFUSED: 'refused',
  ERR_STORE_UNKNOWN: 'unknown',
  ERR_STORE_FATAL: 'fatal',
}

type Question<T> = (tally: Tally) => Promise<T> | T

type Listener = (event: FailureEvent) => void

export class GuardedTally implements Tally<'async'> {
  readonly #counts = { timeout: 0, refused: 0, unknown: 0, fatal: 0, 'not-asked': 0, recovered: 0 }
  readonly #tally: Tally<'async'>
  /** Who stands in, if that is what is to happen. */
  readonly #standIn: Tally<'sync'> | undefined
  readonly #rules: readonly Rule[]
  readonly #options: CheckedFailure
  readonly #breakers: Breakers
  readonly #deadlines: Deadlines
  readonly #retryLines: RetryLines
  readonly #listeners = { failure: new Set<Listener>(), recovered: new Set<Listener>() }

  constructor(
    tally: Tally<'async'>,
    standIn: Tally<'sync'> | undefined,
    rules: readonly Rule[],
    store: Pick<Store, 'clock'>,
    options: CheckedFailure,
  ) {
    this.#tally = tally
    this.#standIn = standIn
    this.#rules = rules
    this.#options = options
    this.#breakers = new Breakers(store, options, tally.partOf?.bind(tally))
    this.#deadlines = sharedDeadlines(store, options.timeoutMs)
    this.#retryLines = sharedRetryLines(store)
  }

  /** A copy: what happens later does not change it. */
  get counts(): FailureCounts {
    return { ...this.#counts }
  }

  on(event: 'failure' | 'recovered', listener: Listener): () => void {
    this.#listeners[event].add(listener)
    return () => {
      this.#listeners[event].delete(listener)
    }
  }

  hit(key: string, cost: number): Promise<Decision> {
    return this.#decide(key, (tally) => tally.hit(key, cost))
  }

  peek(key: string, cost: number): Promise<Decision> {
    return this.#decide(key, (tally) => tally.peek(key, cost))
  }

  inc(rule: number, key: string, cost: number): Promise<number> {
    return this.#tell(key, (tally) => tally.inc(rule, key, cost))
  }

  get(rule: number, key: string): Promise<number> {
    return this.#tell(key, (tally) => tally.get(rule, key))
  }

  set(rule: number, key: string, used: number): Promise<number> {
    return this.#tell(key, (tally) => tally.set(rule, key, used))
  }

  expiresAt(rule: number, key: string): Promise<number> {
    return this.#tell(key, (tally) => tally.expiresAt(rule, key))
  }

  refund(key: string, cost: number, rule?: number): Promise<number> {
    return this.#tell(key, (tally) => tally.refund(key, cost, rule))
  }

  reset(key: string): Promise<void> {
    // Whoever is forgiven is forgiven everywhere, also by what a stand-in remembers of an earlier outage.
    this.#standIn?.reset(key)
    return this.#tell(key, (tally) => tally.reset(key))
  }

  /** Asks for a decision: whatever happens, unless nobody stands in, there is one. */
  #decide(key: string, question: Question<Decision>): Promise<Decision> {
    const { then, probeEveryMs } = this.#options
    if (then === 'throw') return this.#ask(key, question)
    return this.#ask(key, question, () => {
      if (this.#standIn !== undefined) return (question(this.#standIn) as SingleDecision).from('fallback')
      // Nothing is known and nothing is counted: all is free, or nothing is until the store may be asked again.
      const [used, waitMs] = then === 'allow' ? [0, 0] : [Number.MAX_SAFE_INTEGER, probeEveryMs]
      return decide(
        this.#rules,
        this.#rules.flatMap(() => [used, waitMs, waitMs]),
        'fallback',
      )
    })
  }

  /** Asks for a number, which nobody can make up. */
  #tell<T>(key: string, question: Question<T>): Promise<T> {
    const standIn = this.#standIn
    return this.#ask(key, question, standIn && (() => question(standIn) as T))
  }

  #ask<T>(key: string, question: Question<T>, otherwise?: () => T): Promise<T> {
    const breaker = this.#breakers.of(key)
    const era = breaker.enter()
    if (era === undefined) {
      this.#breakers.turnedAway(key)
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
        this.#breakers.failed(key, breaker, era)
        settle(this.#fail(reason, () => error, otherwise))
      }
      const cancelDeadline = this.#deadlines.start(() => {
        if (refusal === undefined) fail('timeout', this.#tooLate())
        else fail('refused', refusal)
      })
      const onAnswer = (answer: T): void => {
        // Too late: somebody else has answered, and a store that answers too late is no better than one that does not.
        if (isSettled) return
        this.#answered(key, breaker)
        settle(answer)
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
        askNow(question, this.#tally).then(onAnswer, (thrown: unknown) => {
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
            this.#answered(key, breaker)
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

  #answered(key: string, breaker: Breaker): void {
    if (!this.#breakers.answered(key, breaker)) return
    this.#counts.recovered += 1
    this.#report('recovered')
  }

  #fail<T>(reason: FailureReason, makeError: () => SluiceError, otherwise: (() => T) | undefined): Promise<T> {
    this.#counts[reason] += 1
    // In an outage every call comes by here: an error that nobody would see is not made.
    if (otherwise !== undefined && this.#listeners.failure.size === 0) return Promise.resolve().then(otherwise)
    const error = makeError()
    this.#report('failure', { reason, error })
    return otherwise === undefined ? Promise.reject(error) : Promise.resolve().then(otherwise)
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
function askNow<T>(question: Question<T>, tally: Tally<'async'>): Promise<T> {
  try {
    return question(tally) as Promise<T>
  } catch (error) {
    return Promise.reject(error)
  }
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
