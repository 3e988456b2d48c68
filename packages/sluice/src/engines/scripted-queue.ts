// Gathers the calls of one turn of the event loop, and sends them as one command for each part.
// Invariants: a call waits no longer than the turn in which it was made, or one more if the store has parts that are answering other
// calls. Calls in one part keep their order. Calls of one turn are one command for each part, unless there are more than `most`, or
// `leastOverlapped` is set.

import { type Call, type Figures, figureCount } from '../core/call.ts'
import { type SluiceError, show } from '../core/errors.ts'
import type { Asker, ToldAsker } from '../core/store.ts'
import { atEndOfTurn, endOfTurns } from './end-of-turn.ts'
import { HandOut } from './hand-out.ts'
import { isLate, markMayCount, markUncounted, whyNotSent } from './late-calls.ts'
import type { ScriptedAnswer, ScriptedCall, ScriptedOptions } from './scripted.ts'
import { type SortError, sortedError, storeError } from './store-errors.ts'

/** The answer to a call whose states are not in the part that was asked. The script wrote nothing for the call. */
export const MOVED = Symbol('moved')

/** Asks a call again that was answered with `MOVED`. */
export type AskAgain = (call: Call, asker: Asker | undefined) => Promise<Figures>

/** With more calls than this, commands overlap by themselves. */
const MOST_OVERLAPPED = 32

/** The recent number of calls under way falls to this share with each command. So it follows a change within some twenty commands. */
const RECENT_SHARE = 0.9

export interface QueuedCall<D> extends ScriptedCall<D> {
  readonly asker: Asker | undefined
  readonly askAgain: AskAgain
  /** Gets the outcome: the functions of a promise, or an asker with methods of their names. */
  readonly told: Pick<ToldAsker, 'resolve' | 'reject'>
}

export class ScriptedQueue<D> {
  readonly #options: ScriptedOptions<D>
  readonly #handOut = new HandOut()
  /** Calls by part, in the order of the parts' first calls. */
  readonly #queued = new Map<string, QueuedCall<D>[]>()
  /** True until the end of the turn: what is sent before leaves it for the calls that come after. */
  #isAwaited = false
  /** The function that ends the awaited turn. */
  #awaited: unknown
  /** Number of commands that are not answered, and of their calls. */
  #underWay = 0
  #callsUnderWay = 0
  /** Number of commands under way that the store refuses. The store may open again before their callers know. */
  #refused = 0
  /** The most calls that were under way at once of late. */
  #recentMost = 0
  /** So many calls of a part are sent before the turn ends, once. */
  #enough = Number.POSITIVE_INFINITY

  /** Ends the turn. One function for all turns, because a lone call makes one of each. */
  readonly #endTurn = (): void => {
    this.#isAwaited = false
    this.#stopOverlap()
    this.#flush()
  }

  readonly #stopOverlap = (): void => {
    this.#enough = Number.POSITIVE_INFINITY
  }

  constructor(options: ScriptedOptions<D>) {
    this.#options = options
  }

  add(part: string, queued: QueuedCall<D>): void {
    markUncounted(queued.asker)
    this.#flushLater()
    const inPart = this.#queued.get(part)
    if (inPart === undefined) this.#queued.set(part, [queued])
    else inPart.push(queued)
    const count = inPart?.length ?? 1
    if (count < this.#options.most && count < this.#enough) return
    this.#stopOverlap()
    // All calls of a turn are refused, or none is. If the first were refused and the last sent, the last would be decided
    // first.
    if (this.#refused === 0 && this.#isOpen()) this.#flushPart(part)
  }

  #isOpen(): boolean {
    return this.#options.isOpen?.() ?? true
  }

  #flushLater(): void {
    const awaited = endOfTurns()
    if (this.#isAwaited && awaited === this.#awaited) return
    this.#isAwaited = true
    this.#awaited = awaited
    // With no command under way, a call is sent as soon as the code that made it has run. Otherwise it waits for the end of the turn,
    // to share a command with others. Parts answer one after another, and each answer makes callers call again. One turn later,
    // calls after several answers share a command: a fifth fewer commands with 128 calls under way on three nodes.
    // Not queueMicrotask: it takes several times as long in Node.
    if (this.#underWay === 0) void Promise.resolve().then(this.#endTurn)
    else if (this.#options.partOf === undefined) atEndOfTurn(this.#endTurn)
    else atEndOfTurn(() => atEndOfTurn(this.#endTurn))
  }

  #flush(): void {
    for (const part of this.#queued.keys()) this.#flushPart(part)
  }

  #flushPart(part: string): void {
    const calls = toSend(this.#queued.get(part) ?? [])
    this.#queued.delete(part)
    this.#sendAll(part, calls)
  }

  #sendAll(part: string, calls: readonly QueuedCall<D>[]): void {
    const { most } = this.#options
    if (calls.length <= most) {
      if (calls.length > 0) void this.#send(part, calls)
      return
    }
    for (let first = 0; first < calls.length; first += most) void this.#send(part, calls.slice(first, first + most))
  }

  async #send(part: string, calls: readonly QueuedCall<D>[]): Promise<void> {
    let refused = 0
    this.#underWay += 1
    this.#callsUnderWay += calls.length
    this.#recentMost = Math.max(this.#callsUnderWay, this.#recentMost * RECENT_SHARE)
    try {
      if (!this.#isOpen()) refused = 1
      this.#refused += refused
      const answers = await this.#options.execute(part, calls)
      if (answers.length !== calls.length) throw new Error(`the script answered ${answers.length} of ${calls.length} calls`)
      this.#handOut.add(calls.length, () => {
        this.#overlap(calls.length)
        deliver(calls, answers, this.#options.sortError)
      })
    } catch (thrown) {
      const error = sortedError(thrown, this.#options.sortError, 'unknown')
      for (const { told } of calls) told.reject(error)
    } finally {
      this.#refused -= refused
      this.#underWay -= 1
      this.#callsUnderWay -= calls.length
    }
  }

  /**
   * Prepares for the calls that callers make when they get these answers. A part of them is sent at once, so that the server decides
   * them while the callers of the others run. Otherwise server and callers would wait for each other.
   */
  #overlap(answers: number): void {
    const { leastOverlapped } = this.#options
    if (leastOverlapped === undefined || answers < leastOverlapped || this.#recentMost > MOST_OVERLAPPED) return
    this.#enough = Math.max(leastOverlapped, Math.ceil(answers / 2))
    // Callers may make no calls in this turn. Calls of a later one follow no answer.
    atEndOfTurn(this.#stopOverlap)
  }
}

/** Marks calls as sent. Rejects calls that must not be sent. Returns the others. */
function toSend<D>(calls: readonly QueuedCall<D>[]): readonly QueuedCall<D>[] {
  let mayAll = true
  for (const { asker } of calls) {
    if (isLate(asker) || asker?.isBehind === true) mayAll = false
    else markMayCount(asker)
  }
  if (mayAll) return calls
  return calls.filter(({ asker, told }) => {
    const error = whyNotSent(asker)
    if (error !== undefined) told.reject(error)
    return error === undefined
  })
}

/** Hands each caller its own answer. */
function deliver(calls: readonly QueuedCall<unknown>[], answers: readonly ScriptedAnswer[], sort: SortError | undefined): void {
  for (let i = 0; i < calls.length; i++) {
    const answer = answers[i]
    const call = calls[i]
    const { told } = call
    if (answer === MOVED) told.resolve(call.askAgain(call, call.asker))
    else if (!Array.isArray(answer)) told.reject(sortedError(answer, sort, 'unknown'))
    else if (areFigures(answer, figureCount(call))) told.resolve(answer)
    else told.reject(wrongFigures(answer, figureCount(call)))
  }
}

/** Makes the error of an answer with other figures than the call has. The call may have counted. */
function wrongFigures(answer: readonly unknown[], count: number): SluiceError {
  const shown = answer.slice(0, count + 1).map(show)
  return storeError('unknown', `the script answered ${answer.length} values, [${shown}], where ${count} figures belong`)
}

/** So many numbers, none of which is NaN. */
function areFigures(answer: readonly unknown[], count: number): boolean {
  if (answer.length !== count) return false
  for (let i = 0; i < count; i++) if (typeof answer[i] !== 'number' || !((answer[i] as number) >= 0)) return false
  return true
}
