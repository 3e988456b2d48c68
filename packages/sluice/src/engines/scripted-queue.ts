// Gathers the calls of one turn of the event loop, and sends them as one command for each part.
// Invariants: a call waits no longer than the turn in which it was made, and calls in one part keep their order.

import { type Call, type Figures, figureCount } from '../core/call.ts'
import { HandOut } from './hand-out.ts'
import type { ScriptedAnswer, ScriptedCall, ScriptedOptions } from './scripted.ts'

/** The answer to a call whose states are not in the part that was asked. The script wrote nothing for the call. */
export const MOVED = Symbol('moved')

interface QueuedCall<D> extends ScriptedCall<D> {
  /** Asks a call again that was answered with `MOVED`. */
  readonly askAgain: (call: Call) => Promise<Figures>
  readonly resolve: (figures: Figures | Promise<Figures>) => void
  readonly reject: (error: unknown) => void
}

export class ScriptedQueue<D> {
  readonly #options: ScriptedOptions<D>
  readonly #handOut = new HandOut()
  /** Calls by part, in the order of the parts' first calls. */
  readonly #queued = new Map<string, QueuedCall<D>[]>()
  /** True while an immediate is set: what is sent before leaves it for the calls that come after. */
  #isAwaited = false

  constructor(options: ScriptedOptions<D>) {
    this.#options = options
  }

  ask(part: string, { operation, charges }: Call, rules: D, askAgain: QueuedCall<D>['askAgain']): Promise<Figures> {
    return new Promise((resolve, reject) => {
      this.#flushLater()
      const queued = { operation, charges, rules, askAgain, resolve, reject }
      const inPart = this.#queued.get(part)
      if (inPart === undefined) this.#queued.set(part, [queued])
      else inPart.push(queued)
      if ((inPart?.length ?? 1) < this.#options.most) return
      // All calls of a turn are refused, or none is. If the first were refused and the last sent, the last would be decided
      // first.
      if (this.#options.isOpen?.() ?? true) this.#flushPart(part)
    })
  }

  #flushLater(): void {
    if (this.#isAwaited) return
    this.#isAwaited = true
    setImmediate(() => {
      this.#isAwaited = false
      this.#flush()
    })
  }

  #flush(): void {
    for (const part of this.#queued.keys()) this.#flushPart(part)
  }

  #flushPart(part: string): void {
    const calls = this.#queued.get(part) ?? []
    this.#queued.delete(part)
    this.#sendAll(part, calls)
  }

  #sendAll(part: string, calls: readonly QueuedCall<D>[]): void {
    const { most } = this.#options
    for (let first = 0; first < calls.length; first += most) void this.#send(part, calls.slice(first, first + most))
  }

  async #send(part: string, calls: readonly QueuedCall<D>[]): Promise<void> {
    try {
      const answers = await this.#options.execute(part, calls)
      if (answers.length !== calls.length) throw new Error(`the script answered ${answers.length} of ${calls.length} calls`)
      this.#handOut.add(calls.length, () => deliver(calls, answers))
    } catch (thrown) {
      const error = this.#sorted(thrown)
      for (const call of calls) call.reject(error)
    }
  }

  /** Sorting that throws itself must not keep the callers waiting. They get what was thrown first, which may mean anything. */
  #sorted(thrown: unknown): unknown {
    try {
      return this.#options.sortError(thrown)
    } catch {
      return thrown
    }
  }
}

/** Hands each caller its own answer. */
function deliver(calls: readonly QueuedCall<unknown>[], answers: readonly ScriptedAnswer[]): void {
  for (let i = 0; i < calls.length; i++) {
    const answer = answers[i]
    if (answer === MOVED) calls[i].resolve(calls[i].askAgain(calls[i]))
    else if (!Array.isArray(answer)) calls[i].reject(answer)
    else if (areFigures(answer, figureCount(calls[i]))) calls[i].resolve(answer)
    else calls[i].reject(new Error(`the script answered [${answer}] where ${figureCount(calls[i])} figures belong`))
  }
}

/** So many numbers, none of which is NaN. */
function areFigures(answer: readonly unknown[], count: number): boolean {
  if (answer.length !== count) return false
  for (let i = 0; i < count; i++) if (!((answer[i] as number) >= 0) || typeof answer[i] !== 'number') return false
  return true
}
