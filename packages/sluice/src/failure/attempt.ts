// An attempt: one guarded call on a store, from its start to its answer, failure or deadline.
// Invariants: every attempt ends exactly once, at its deadline at the latest. A call that may have been executed is never
// repeated.

import type { Figures } from '../core/call.ts'
import { type ErrorCode, SluiceError, show } from '../core/errors.ts'
import type { FailureReason } from '../core/guard.ts'
import type { Tally } from '../core/store.ts'
import type { Entry } from './breakers.ts'
import type { Deadlines } from './deadlines.ts'
import type { RetryLines } from './retry-lines.ts'

/**
 * - `asking`: the store has the call.
 * - `queued`: the store refused this call or an earlier call on one of its keys. The call waits to be tried again.
 * - `ended`: the caller has an answer or an error.
 */
type Stage = 'asking' | 'queued' | 'ended'

/** Callbacks of an attempt. Exactly one of them is called, once. */
export interface AttemptEnd {
  answered(figures: Figures): void
  /** `isStoreDown` is false if the error is an answer of the store. */
  failed(reason: FailureReason, error: SluiceError, isStoreDown: boolean): void
  /** Called if the error is not about the store, so that no fallback can help. */
  threw(error: SluiceError): void
}

export interface AttemptOptions {
  readonly entry: Entry
  readonly tally: Tally<'async'>
  readonly timeoutMs: number
  readonly deadlines: Deadlines
  readonly retryLines: RetryLines
  readonly end: AttemptEnd
}

/** Time until a refused call is tried again for the first time. It doubles each time. */
const FIRST_RETRY_MS = 10

const REASONS: Readonly<Partial<Record<ErrorCode, FailureReason>>> = {
  ERR_STORE_REFUSED: 'refused',
  ERR_STORE_UNKNOWN: 'unknown',
  ERR_STORE_FATAL: 'fatal',
}

export class Attempt {
  readonly #options: AttemptOptions
  #stage: Stage = 'asking'
  /** Time that the call has waited in a retry line so far. */
  #waitedMs = 0
  #refusal: SluiceError | undefined
  #cancelDeadline: () => void = () => {}
  #leaveLine: () => void = () => {}

  constructor(options: AttemptOptions) {
    this.#options = options
  }

  start(): void {
    const { deadlines, retryLines, entry } = this.#options
    this.#cancelDeadline = deadlines.start(() => this.#onDeadline())
    const ahead = retryLines.refusalOf(entry.call)
    if (ahead === undefined) this.#ask()
    else this.#queue(FIRST_RETRY_MS, ahead)
  }

  #ask(): void {
    this.#stage = 'asking'
    askNow(this.#options).then(
      (figures) => this.#onAnswer(figures),
      (thrown: unknown) => this.#onError(thrown),
    )
  }

  #queue(delayMs: number, refusal: SluiceError): void {
    const { retryLines, entry } = this.#options
    this.#stage = 'queued'
    this.#refusal = refusal
    this.#leaveLine = retryLines.join(entry.call, delayMs, refusal, (latest) => this.#onTurn(latest))
  }

  #onTurn(refusal: SluiceError): void {
    if (this.#stage !== 'queued') return
    // No call is tried again while the breaker is open.
    if (this.#options.entry.isOpen) this.#fail('refused', refusal, true)
    else this.#ask()
  }

  #onAnswer(figures: Figures): void {
    // After the deadline the caller already has another result, and the store counts as failed.
    if (this.#stage === 'ended') return
    this.#finish()
    this.#options.end.answered(figures)
  }

  #onError(thrown: unknown): void {
    if (this.#stage === 'ended') return
    const error = sorted(thrown)
    const reason = REASONS[error.code]
    if (reason === 'refused') this.#onRefusal(error)
    else if (reason !== undefined) this.#fail(reason, error, reason === 'unknown')
    else {
      this.#finish()
      this.#options.end.threw(error)
    }
  }

  #onRefusal(error: SluiceError): void {
    const { entry, timeoutMs } = this.#options
    const delayMs = this.#waitedMs + FIRST_RETRY_MS
    this.#waitedMs += delayMs
    // A call is not tried again if its deadline comes first.
    if (entry.isOpen || this.#waitedMs >= timeoutMs) this.#fail('refused', error, true)
    else this.#queue(delayMs, error)
  }

  #onDeadline(): void {
    if (this.#stage === 'queued' && this.#refusal !== undefined) this.#fail('refused', this.#refusal, true)
    else if (this.#stage === 'asking') this.#fail('timeout', tooLate(this.#options.timeoutMs), true)
  }

  #fail(reason: FailureReason, error: SluiceError, isStoreDown: boolean): void {
    this.#finish()
    this.#options.end.failed(reason, error, isStoreDown)
  }

  #finish(): void {
    this.#stage = 'ended'
    this.#cancelDeadline()
    this.#leaveLine()
  }
}

/** Asks the store. If the store throws, the promise rejects. */
function askNow({ tally, entry }: AttemptOptions): Promise<Figures> {
  try {
    return tally.ask(entry.call)
  } catch (error) {
    return Promise.reject(error)
  }
}

function tooLate(timeoutMs: number): SluiceError {
  return new SluiceError('ERR_STORE_UNKNOWN', `no answer within ${timeoutMs} ms: the call may have been counted`)
}

/** Returns a SluiceError. An error that the store has not sorted counts as `unknown`. */
function sorted(thrown: unknown): SluiceError {
  if (thrown instanceof SluiceError) return thrown
  const message = thrown instanceof Error ? thrown.message : show(thrown)
  return new SluiceError('ERR_STORE_UNKNOWN', `the store failed, and may have counted: ${message}`, { cause: thrown })
}
