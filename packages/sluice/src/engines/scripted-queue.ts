// Gathers the calls of one turn of the event loop, and sends them as one command for each part.
// Invariants: a call waits no longer than the turn in which it was made, and calls in one part keep their order.

import { type Call, type Figures, figureCount } from '../core/call.ts'
import type { Asker } from '../core/store.ts'
import { atEndOfTurn } from './end-of-turn.ts'
import { HandOut } from './hand-out.ts'
import { isLate, lateError, markMayCount, markUncounted } from './late-calls.ts'
import type { ScriptedAnswer, ScriptedCall, ScriptedOptions } from './scripted.ts'
import { sortedError } from './store-errors.ts'

interface QueuedCall<D> extends ScriptedCall<D> {
  readonly part: string
  readonly asker: Asker | undefined
  readonly resolve: (figures: Figures) => void
  readonly reject: (error: unknown) => void
}

export class ScriptedQueue<D> {
  readonly #options: ScriptedOptions<D>
  readonly #handOut = new HandOut()
  #queued: QueuedCall<D>[] = []
  /** True until the end of the turn: what is sent before leaves it for the calls that come after. */
  #isAwaited = false

  constructor(options: ScriptedOptions<D>) {
    this.#options = options
  }

  ask(part: string, { operation, charges }: Call, rules: D, asker: Asker | undefined): Promise<Figures> {
    markUncounted(asker)
    return new Promise((resolve, reject) => {
      this.#flushLater()
      this.#queued.push({ operation, charges, rules, part, asker, resolve, reject })
      if (this.#queued.length < this.#options.most) return
      // All calls of a turn are refused, or none is. If the first were refused and the last sent, the last would be decided
      // first.
      if (this.#options.isOpen?.() ?? true) this.#flush()
    })
  }

  #flushLater(): void {
    if (this.#isAwaited) return
    this.#isAwaited = true
    atEndOfTurn(() => {
      this.#isAwaited = false
      this.#flush()
    })
  }

  #flush(): void {
    const calls = toSend(this.#queued)
    this.#queued = []
    if (calls.length === 0) return
    if (this.#options.partOf === undefined) {
      this.#sendAll(calls[0].part, calls)
      return
    }
    const byPart = new Map<string, QueuedCall<D>[]>()
    for (const call of calls) {
      const others = byPart.get(call.part)
      if (others === undefined) byPart.set(call.part, [call])
      else others.push(call)
    }
    for (const [part, inPart] of byPart) this.#sendAll(part, inPart)
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
      const error = sortedError(thrown, this.#options.sortError, 'unknown')
      for (const call of calls) call.reject(error)
    }
  }
}

/** Marks calls as sent. Rejects calls whose askers have left. Returns the others. */
function toSend<D>(calls: readonly QueuedCall<D>[]): readonly QueuedCall<D>[] {
  let hasLate = false
  for (const { asker } of calls) {
    if (isLate(asker)) hasLate = true
    else markMayCount(asker)
  }
  if (!hasLate) return calls
  for (const { asker, reject } of calls) if (isLate(asker)) reject(lateError())
  return calls.filter(({ asker }) => !isLate(asker))
}

/** Hands each caller its own answer. */
function deliver(calls: readonly QueuedCall<unknown>[], answers: readonly ScriptedAnswer[]): void {
  for (let i = 0; i < calls.length; i++) {
    const answer = answers[i]
    if (!Array.isArray(answer)) calls[i].reject(answer)
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
