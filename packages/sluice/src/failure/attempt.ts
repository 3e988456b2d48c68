// An attempt: one guarded call, from its start to its answer, its failure or its deadline.
// Invariants: an attempt ends once, at its deadline at the latest. A call that may have counted is never sent again.

import type { Figures } from '../core/call.ts'
import { type ErrorCode, SluiceError, show } from '../core/errors.ts'
import type { FailureReason } from '../core/guard.ts'
import type { Tally, ToldAsker } from '../core/store.ts'
import type { Entry } from './breakers.ts'
import type { Deadlines } from './deadlines.ts'
import type { RetryLines } from './retry-lines.ts'

/**
 * - `asking`: the call was passed to the store, which has not answered yet.
 * - `queued`: the call waits in a retry line, because the store refused it, or refused an earlier call on one of its keys.
 * - `ended`: the caller has a result.
 */
type Stage = 'asking' | 'queued' | 'ended'

/** Shared by the attempts of one limiter. */
export interface AttemptContext {
  readonly tally: Tally<'async'>
  readonly timeoutMs: number
  readonly deadlines: Deadlines
  readonly retryLines: RetryLines
}

/** Delay before the first retry of a refused call. Each further delay is twice as long. */
const FIRST_RETRY_MS = 10

const REASONS: Readonly<Partial<Record<ErrorCode, FailureReason>>> = {
  ERR_STORE_REFUSED: 'refused',
  ERR_STORE_UNKNOWN: 'unknown',
  ERR_STORE_FATAL: 'fatal',
}

/** Returns the reason of a failure of the store; undefined if the error is not about the store. */
export function reasonOf({ code }: SluiceError): FailureReason | undefined {
  return REASONS[code]
}

const nothing = (): void => {}

/** Calls one of `answered`, `failed` and `threw`, once. */
export abstract class Attempt implements ToldAsker {
  hasLeft = false
  isUncounted = false
  protected readonly entry: Entry
  readonly #context: AttemptContext
  #stage: Stage = 'asking'
  #wasAsked = false
  #nth = 0
  /** Sum of the delays of all retries so far. */
  #waitedMs = 0
  #refusal: SluiceError | undefined
  #cancelDeadline = nothing
  #leaveLine = nothing

  constructor(entry: Entry, context: AttemptContext) {
    this.entry = entry
    this.#context = context
  }

  protected abstract answered(figures: Figures): void
  /** The store failed. */
  protected abstract failed(reason: FailureReason, error: SluiceError): void
  /** The call failed for another reason than the store, so the fallback does not answer. */
  protected abstract threw(error: SluiceError): void

  /** A call that has been in a line itself came before those that have opened one since. */
  get isBehind(): boolean {
    return this.#refusal === undefined && this.#context.retryLines.refusalOf(this.entry.call) !== undefined
  }

  /** False if the call has only waited behind others so far. */
  protected get wasAsked(): boolean {
    return this.#wasAsked
  }

  start(): void {
    const { deadlines, retryLines } = this.#context
    this.#nth = retryLines.number()
    this.#cancelDeadline = deadlines.start(() => this.#onDeadline())
    const ahead = retryLines.refusalOf(this.entry.call)
    if (ahead === undefined) this.#ask()
    else this.#queue(FIRST_RETRY_MS, ahead)
  }

  #ask(): void {
    const { tally } = this.#context
    this.#stage = 'asking'
    this.#wasAsked = true
    try {
      if (tally.askFor === undefined) this.#follow(tally.ask(this.entry.call, this))
      else tally.askFor(this.entry.call, this)
    } catch (error) {
      this.reject(error)
    }
  }

  #follow(answer: Promise<Figures>): void {
    answer.then(
      (figures) => this.#onAnswer(figures),
      (error: unknown) => this.reject(error),
    )
  }

  /** Takes the answer of the store, or the promise of one. */
  resolve(answer: Figures | Promise<Figures>): void {
    if (answer instanceof Promise) this.#follow(answer)
    else this.#onAnswer(answer)
  }

  #queue(delayMs: number, refusal: SluiceError): void {
    this.#stage = 'queued'
    this.#refusal = refusal
    const { retryLines } = this.#context
    this.#leaveLine = retryLines.join(this.entry.call, delayMs, refusal, (latest) => this.#onTurn(latest), this.#nth)
  }

  #onTurn(refusal: SluiceError): void {
    if (this.#stage !== 'queued') return
    // No call is tried again while the breaker is open.
    if (this.entry.isOpen) this.#fail('refused', refusal)
    else this.#ask()
  }

  #onAnswer(figures: Figures): void {
    // After the deadline the caller already has another result, and the store counts as failed.
    if (this.#stage === 'ended') return
    this.#finish()
    this.answered(figures)
  }

  /** Takes an error of the store. */
  reject(thrown: unknown): void {
    if (this.#stage === 'ended') return
    const error = sorted(thrown)
    const reason = reasonOf(error)
    if (reason === 'refused') this.#onRefusal(error)
    else if (reason !== undefined) this.#fail(reason, error)
    else {
      this.#finish()
      this.threw(error)
    }
  }

  #onRefusal(error: SluiceError): void {
    const delayMs = this.#waitedMs + FIRST_RETRY_MS
    this.#waitedMs += delayMs
    // A call is not tried again if its deadline comes first.
    if (this.entry.isOpen || this.#waitedMs >= this.#context.timeoutMs) this.#fail('refused', error)
    else this.#queue(delayMs, error)
  }

  #onDeadline(): void {
    if (this.#stage === 'queued' && this.#refusal !== undefined) this.#fail('refused', this.#refusal)
    else if (this.#stage !== 'asking') return
    else if (this.isUncounted) this.#fail('refused', dropped(this.#context.timeoutMs))
    else this.#fail('timeout', tooLate(this.#context.timeoutMs))
  }

  #fail(reason: FailureReason, error: SluiceError): void {
    this.#finish()
    this.failed(reason, error)
  }

  #finish(): void {
    this.#stage = 'ended'
    this.hasLeft = true
    this.#cancelDeadline()
    this.#leaveLine()
  }
}

function dropped(timeoutMs: number): SluiceError {
  return new SluiceError(
    'ERR_STORE_REFUSED',
    `no answer within ${timeoutMs} ms: the call still waited for others, and was dropped`,
  )
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
