// The guard of one limiter over a synchronous store that can fail, such as a database in a file: a breaker and the fallback. There is no
// deadline, because nothing can end a synchronous call. The store bounds its time by itself, and has tried a refused call again.

import type { Call, Figures } from '../core/call.ts'
import type { SluiceError } from '../core/errors.ts'
import type { FailureCounts, FailureEvent, Guard, GuardContext, ReadFigures } from '../core/guard.ts'
import type { Tally } from '../core/store.ts'
import { reasonOf } from './attempt.ts'
import { BreakerView, type Entry, NO_OUTCOMES, notAsked, outcomesBy, WHOLE } from './breakers.ts'
import { checkFailure } from './failure-options.ts'
import { Fallbacks } from './fallbacks.ts'
import type { StoreHealth } from './store-health.ts'

export class SyncGuard implements Guard<'sync'> {
  readonly #tally: Tally<'sync'>
  readonly #fallbacks: Fallbacks
  readonly #breakers: BreakerView

  constructor(context: GuardContext<'sync'>, health: StoreHealth) {
    const checked = checkFailure(context.options)
    this.#tally = context.tally
    this.#breakers = new BreakerView(health.breakers(checked), () => WHOLE)
    this.#fallbacks = new Fallbacks(checked, health.standInTally(context, checked))
  }

  get counts(): FailureCounts {
    return this.#fallbacks.counts
  }

  on(event: 'failure' | 'recovered', listener: (event: FailureEvent) => void): () => void {
    return this.#fallbacks.on(event, listener)
  }

  ask<V>(call: Call, read: ReadFigures<V>): V {
    if (call.operation === 'reset') this.#fallbacks.reset(call)
    if (call.source === 'fallback') return this.#fallbacks.answerOwn(call, read)
    const entry = this.#breakers.enter(call)
    if (entry === undefined) return this.#fallbacks.answer(call, read, 'not-asked', notAsked)
    let figures: Figures
    try {
      figures = this.#tally.ask(call)
    } catch (error) {
      return this.#fail(entry, read, error as SluiceError)
    }
    if (this.#breakers.answered(entry)) this.#fallbacks.recovered()
    return read(figures, undefined)
  }

  #fail<V>(entry: Entry, read: ReadFigures<V>, error: SluiceError): V {
    const reason = reasonOf(error)
    if (reason === undefined) {
      // The call failed for another reason than the store, so the fallback does not answer.
      entry.ended(NO_OUTCOMES)
      throw error
    }
    if (this.#breakers.failed(entry, outcomesBy(reason, entry.parts))) this.#fallbacks.recovered()
    return this.#fallbacks.answer(entry.call, read, reason, () => error)
  }
}
