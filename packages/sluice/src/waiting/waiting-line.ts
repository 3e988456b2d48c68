// Waiting lines: callers with the same subject wait in one line, first come, first served. Number and time are bounded.
// Invariants: only the first caller of a line asks the store. A caller that asks stays until the store has answered. So a rejected
// caller was not charged.

import type { Call, Charge } from '../core/call.ts'
import type { TimerClock } from '../core/clock.ts'
import type { Decision } from '../core/decision.ts'
import { mustBe, SluiceError } from '../core/errors.ts'
import type { WaitOptions } from '../core/limiter.ts'
import type { LimiterContext } from '../core/limiter-context.ts'
import { checkOptions } from '../core/options.ts'
import type { Subject } from '../core/subject.ts'
import type { Patience, Turn, Waiting, WaitingOption } from '../core/waiting.ts'
import { isWhole } from '../core/whole-numbers.ts'
import { Place } from './waiting-place.ts'

export interface WaitingLineOptions {
  /** The most callers that wait at once. Default: 10,000. */
  readonly maxWaiting?: number
}

const OPTIONS = ['maxWaiting'] as const
const WAIT_OPTIONS = ['cost', 'signal', 'maxWaitMs'] as const

const DEFAULT_MAX_WAITING = 10_000

/** Interval at which the first of a line asks again, if units may come back before its wait is over. */
const POLL_MS = 250

/** Enables `wait` of a limiter: `createLimiter({ rules, waiting: waitingLine() })`. */
export function waitingLine(options: WaitingLineOptions = {}): WaitingOption {
  checkOptions('waitingLine', options, OPTIONS)
  const { maxWaiting = DEFAULT_MAX_WAITING } = options
  if (!isWhole(maxWaiting, 1)) {
    throw mustBe('ERR_OPTION', 'maxWaiting', 'a whole number of at least 1', maxWaiting)
  }
  return { open: (context) => new WaitingLine(context, maxWaiting) }
}

interface Line {
  readonly subject: string
  /** Names of the states that its callers wait for. */
  readonly states: Set<string>
  /** Callers in the order in which they came. */
  readonly places: Set<Place>
  /** Callers that came before the first denial. Their `maxWaitMs` does not count yet. */
  readonly unaware: Set<Place>
  /** Callers whose `maxWaitMs` ended during an attempt. They leave at the next denial. */
  readonly overdue: Set<Place>
  /** The caller whose attempt is under way. */
  trying: Place | undefined
  /** True if units may have been freed during the attempt: after a denial the caller tries again at once. */
  triesAgain: boolean
  wasDenied: boolean
  /** Time of the next attempt of the first in line. */
  wakeAtMs: number
  /** True if the first in line was called up to try. */
  isDue: boolean
  /** Cancels the timer that wakes the first in line. */
  cancelWake: () => void
}

const nothing = (): void => {}

export class WaitingLine implements Waiting {
  readonly #lines = new Map<string, Line>()
  /** Lines by the states that their callers wait for. */
  readonly #byState = new Map<string, Set<Line>>()
  readonly #context: LimiterContext
  readonly #clock: TimerClock
  readonly #most: number
  #waiting = 0
  /** True after the first answer of an asynchronous store. */
  #isAsync = false

  constructor(context: LimiterContext, most: number) {
    this.#context = context
    this.#clock = context.limiter.clock
    this.#most = most
  }

  join(subject: Subject, options: WaitOptions): Promise<Decision> {
    checkOptions('wait', options, WAIT_OPTIONS)
    // A copy, so that the line is the line of the subject that was checked and is charged.
    const { subjects, ask, decide } = this.#context
    const read = subjects.read(subject)
    const call: Call = { operation: 'hit', charges: subjects.charges(read, options.cost) }
    const attempt = (): Decision | Promise<Decision> => ask(call, (figures, failure) => decide(call, figures, failure))
    return this.takeTurn(read, options, { call, isEstimate: false, attempt, decisionOf: (decision) => decision })
  }

  takeTurn<V>(subject: Subject, patience: Patience, turn: Turn<V>): Promise<V> {
    const { signal, maxWaitMs = Number.POSITIVE_INFINITY } = patience
    if (maxWaitMs !== Number.POSITIVE_INFINITY && !isWhole(maxWaitMs, 0)) {
      throw mustBe('ERR_OPTION', 'maxWaitMs', 'a whole number of milliseconds, or Infinity', maxWaitMs)
    }
    checkSignal(signal)
    if (signal?.aborted) return Promise.reject(signal.reason)
    if (this.#waiting >= this.#most) {
      const message = `${this.#most} callers are waiting already, which is the maximum (maxWaiting)`
      return Promise.reject(new SluiceError('ERR_WAIT_FULL', message))
    }
    const place = new Place({ turn, signal, maxWaitMs }, this.#clock)
    const name = textOf(subject)
    const line = this.#lines.get(name) ?? this.#open(name)
    for (const charge of turn.call.charges) this.#watch(line, nameOf(charge))
    this.#waiting += 1
    line.places.add(place)
    if (line.wasDenied) place.deniedAtMs = this.#clock.now()
    else line.unaware.add(place)
    if (line.places.size === 1) this.#serve(line)
    if (!place.hasLeft) this.#stay(line, place)
    return place.answer as Promise<V>
  }

  /**
   * Lets the first caller of each line that waits for a state of the call try again after `change`, which may have freed units.
   */
  nudge(call: Call, change: unknown): void {
    if (change instanceof Promise) change.then(() => this.nudge(call, undefined), nothing)
    else if (this.#lines.size > 0) {
      const lines = new Set(call.charges.flatMap((charge) => [...(this.#byState.get(nameOf(charge)) ?? [])]))
      for (const line of lines) {
        if (line.trying === undefined) this.#serveNext(line)
        else line.triesAgain = true
      }
    }
  }

  /** Rejects every caller. A caller with an attempt under way is rejected only if the attempt is denied. */
  close(): void {
    const reason = new SluiceError('ERR_CLOSED', 'the limiter was closed while this caller waited')
    for (const line of [...this.#lines.values()]) {
      for (const place of [...line.places]) this.#sendAway(line, place, reason)
    }
  }

  #open(subject: string): Line {
    const line: Line = {
      subject,
      states: new Set(),
      places: new Set(),
      unaware: new Set(),
      overdue: new Set(),
      trying: undefined,
      triesAgain: false,
      wasDenied: false,
      wakeAtMs: 0,
      isDue: false,
      cancelWake: nothing,
    }
    this.#lines.set(subject, line)
    return line
  }

  #watch(line: Line, state: string): void {
    if (line.states.has(state)) return
    line.states.add(state)
    const lines = this.#byState.get(state) ?? new Set()
    this.#byState.set(state, lines.add(line))
  }

  #close(line: Line): void {
    line.cancelWake()
    this.#lines.delete(line.subject)
    for (const state of line.states) {
      const lines = this.#byState.get(state)
      lines?.delete(line)
      if (lines?.size === 0) this.#byState.delete(state)
    }
  }

  #stay(line: Line, place: Place): void {
    const sendAway = (reason: unknown): void => {
      const wasFirst = firstOf(line) === place
      this.#sendAway(line, place, reason)
      if (wasFirst) this.#serveNext(line)
    }
    place.stay({
      onAbort: () => sendAway(place.waiter.signal?.reason),
      onPatienceOver: () => {
        // Units may have become free in the last millisecond of the wait, so the first caller asks once more.
        this.#serveIfDue(line)
        if (place.hasLeft) return
        if (line.trying === undefined) sendAway(tooLong(place.waiter.maxWaitMs))
        else line.overdue.add(place)
      },
      onBeat: () => {
        if (line.trying !== undefined && place.missesBeatsOf(line.trying)) this.#forget(line, line.trying)
        this.#serveIfDue(line)
      },
      onCall: () => {
        place.countPatience()
        if (firstOf(line) !== place || line.trying !== undefined) return
        if (line.isDue) return this.#serve(line)
        this.#sleep(line, line.wakeAtMs - this.#clock.now())
        // The attempts of a caller on an asynchronous store take time, in which others watch its beats.
        if (!this.#isAsync) place.stopBeating()
      },
    })
    // The first caller has just set the timer of the line, so it needs no beat.
    if (firstOf(line) !== place || line.trying !== undefined) place.beat()
  }

  #serveIfDue(line: Line): void {
    if (line.trying === undefined && this.#clock.now() >= line.wakeAtMs) this.#serve(line)
  }

  /** Lets the first in line try. It asks an asynchronous store in its own request: on Workers an answer ends with its request. */
  #serveNext(line: Line): void {
    const first = firstOf(line)
    if (!this.#isAsync || first === undefined) return this.#serve(line)
    line.isDue = true
    first.callUp()
  }

  /** Lets a caller go whose request has ended during its attempt. Its answer will not come, and nobody waits for it. */
  #forget(line: Line, place: Place): void {
    const message = 'the request that waited has ended during its attempt, which may have counted'
    this.#fail(line, place, new SluiceError('ERR_STORE_UNKNOWN', message))
  }

  /** Lets the first in line try, and then the next one if it was allowed. A synchronous store is asked in the same turn. */
  #serve(line: Line | undefined): void {
    while (line !== undefined && line.trying === undefined) {
      line.cancelWake()
      line.isDue = false
      const first = firstOf(line)
      if (first === undefined) return
      line.trying = first
      let answer: unknown
      try {
        answer = first.waiter.turn.attempt()
      } catch (error) {
        this.#fail(line, first, error)
        continue
      }
      if (answer instanceof Promise) {
        this.#isAsync = true
        answer
          .then(
            (value) => this.#answer(line, first, value),
            (error) => this.#fail(line, first, error),
          )
          .then((goesOn) => goesOn && line.places.size > 0 && this.#serveNext(line))
      } else if (!this.#answer(line, first, answer)) return
    }
  }

  /** Handles the decision of an attempt. Returns true if the first in line may try now. */
  #answer(line: Line, first: Place, answer: unknown): boolean {
    // The caller was forgotten, and its answer came after all.
    if (line.trying !== first) return false
    const { triesAgain } = line
    line.trying = undefined
    line.triesAgain = false
    const { decisionOf, isEstimate } = first.waiter.turn
    const decision = decisionOf(answer)
    if (decision.allowed) {
      this.#leave(line, first)
      first.grant(answer)
      return true
    }
    const nowMs = this.#clock.now()
    this.#tellOfDenial(line, nowMs)
    if (triesAgain && first.leavesWith === undefined) return true
    const leavesWith = first.leavesWith ?? reasonToLeave(first, decision, nowMs)
    if (leavesWith !== undefined) this.#sendAway(line, first, leavesWith.reason)
    for (const place of line.overdue) this.#sendAway(line, place, tooLong(place.waiter.maxWaitMs))
    if (first.hasLeft) return true
    // Another process may give units back, and cannot tell this one.
    const delayMs = isEstimate ? Math.min(POLL_MS, decision.retryAfterMs) : decision.retryAfterMs
    line.wakeAtMs = nowMs + delayMs
    this.#sleep(line, delayMs)
    // This code may run in the request of another caller. The first caller sets its timer again in its own request.
    first.callUp()
    return false
  }

  #tellOfDenial(line: Line, nowMs: number): void {
    line.wasDenied = true
    for (const place of line.unaware) {
      place.deniedAtMs = nowMs
      place.callUp()
    }
    line.unaware.clear()
  }

  #fail(line: Line, first: Place, error: unknown): boolean {
    if (line.trying !== first) return false
    line.trying = undefined
    line.triesAgain = false
    this.#leave(line, first)
    first.refuse(error)
    return true
  }

  #sleep(line: Line, delayMs: number): void {
    line.cancelWake()
    line.cancelWake = this.#clock.after(Math.max(0, delayMs), () => this.#serve(line))
  }

  #sendAway(line: Line, place: Place, reason: unknown): void {
    if (place.hasLeft) return
    if (line.trying === place) {
      place.leavesWith ??= { reason }
      return
    }
    this.#leave(line, place)
    place.refuse(reason)
  }

  #leave(line: Line, place: Place): void {
    line.places.delete(place)
    line.unaware.delete(place)
    line.overdue.delete(place)
    this.#waiting -= 1
    if (line.places.size === 0) this.#close(line)
  }
}

/** Returns a text that identifies the subject. Equal subjects have equal texts, and different subjects have different texts. */
function textOf(subject: Subject): string {
  return typeof subject === 'string' ? subject : JSON.stringify(Object.entries(subject).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function nameOf({ rule, key }: Charge): string {
  return `${rule}:${key}`
}

function firstOf({ places }: Line): Place | undefined {
  const [first] = places
  return first
}

/** Returns the reason to reject a caller after a denial; undefined if the caller goes on waiting. */
function reasonToLeave({ waiter, deniedAtMs }: Place, decision: Decision, nowMs: number): Place['leavesWith'] {
  const { maxWaitMs } = waiter
  const { retryAfterMs } = decision
  const { isEstimate } = waiter.turn
  if (isEstimate ? retryAfterMs === Number.POSITIVE_INFINITY : !decision.retryable) {
    return { reason: new SluiceError('ERR_WAIT_NEVER', whyNever(decision)) }
  }
  const waitedMs = nowMs - (deniedAtMs ?? nowMs)
  if (isEstimate) return waitedMs >= maxWaitMs ? { reason: tooLong(maxWaitMs) } : undefined
  return waitedMs + retryAfterMs > maxWaitMs ? { reason: tooLong(maxWaitMs, retryAfterMs) } : undefined
}

function whyNever({ retryAfterMs, limit, rule }: Decision): string {
  if (retryAfterMs === Number.POSITIVE_INFINITY) return `the cost can never pass rule ${rule}, whose limit is ${limit}`
  return `the cost can pass rule ${rule} in ${retryAfterMs} ms at the earliest, which is longer than retryWithinMs`
}

function tooLong(maxWaitMs: number, retryAfterMs?: number): SluiceError {
  const earliest = retryAfterMs === undefined ? '' : `: it can pass in ${retryAfterMs} ms at the earliest`
  return new SluiceError('ERR_WAIT_TIMEOUT', `the hit cannot pass within maxWaitMs, which is ${maxWaitMs} ms${earliest}`)
}

/** Checks the shape of the signal, so that the signal of a polyfill is accepted too. */
function checkSignal(signal: unknown): void {
  if (signal === undefined) return
  const { aborted, addEventListener, removeEventListener } = (signal ?? {}) as Partial<AbortSignal>
  const isSignal = typeof addEventListener === 'function' && typeof removeEventListener === 'function'
  if (isSignal && typeof aborted === 'boolean') return
  throw mustBe('ERR_OPTION', 'signal', 'an AbortSignal, such as the signal of an AbortController', signal)
}
