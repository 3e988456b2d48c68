// Passes a stream through, counts what it uses, keeps its hold open, and settles it.

import type { Clock, TimerClock } from '../core/clock.ts'
import type { Duration } from '../core/duration.ts'
import { mustBe } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import type { HeldUnits, Hold } from '../core/reserving.ts'
import type { Cost } from '../core/subject.ts'
import { type Count, checkCount, SafeCounter } from './counting.ts'
import { HoldKeeper, holdTimes, isInputError } from './hold-keeper.ts'
import { type StreamOutcome, watchStream } from './watched-stream.ts'

/** The end of a metered stream. */
export interface MeterEnd {
  readonly outcome: StreamOutcome
  /** The units that were charged; undefined if all held units were charged. */
  readonly used: Cost | undefined
  /** The error of `count`, or of the settle. */
  readonly error: unknown
}

export interface MeterOptions<C> {
  /** Counts the units of chunks: a function that returns the units of one chunk, or a counter such as `openaiUsage()`. */
  readonly count: Count<C>
  /** Each extension lets the hold expire after this time. At least `'1s'`. Default: `'1m'`. */
  readonly ttl?: Duration
  /** Time after which the hold is not extended any more, so that it expires. Default: `'1h'`. */
  readonly longest?: Duration
  /** The clock for extensions. Default: the system's. */
  readonly clock?: Clock
  /** Called once, after the hold was settled. An error that it throws is ignored. */
  onEnd?(end: MeterEnd): void
}

const OPTIONS = ['count', 'ttl', 'longest', 'clock', 'onEnd'] as const

/**
 * Returns a stream with the same chunks. While it runs, the hold is extended. At its end, on abort and on error, the hold is settled
 * with the counted units. Errors of counting and settling do not break the stream: `onEnd` gets them.
 */
export function meter<C>(stream: ReadableStream<C>, hold: HeldUnits, options: MeterOptions<NoInfer<C>>): ReadableStream<C> {
  checkOptions('meter', options, OPTIONS)
  const { count, ttl = '1m', longest, clock, onEnd } = options
  checkCount(count)
  if (typeof hold?.settle !== 'function') throw mustBe('ERR_OPTION', 'hold', 'what limiter.reserve() returns', hold)
  if ((hold as Partial<Hold>).allowed === false) throw mustBe('ERR_OPTION', 'hold', 'one that was allowed', hold)
  if (typeof stream?.getReader !== 'function') throw mustBe('ERR_OPTION', 'stream', 'a ReadableStream', stream)
  if (onEnd !== undefined && typeof onEnd !== 'function') throw mustBe('ERR_OPTION', 'onEnd', 'a function', onEnd)
  const times = holdTimes(ttl, longest)
  const timers = timersOf(clock)
  const counter = new SafeCounter(count, Object.keys(hold.granted))
  let keeper: HoldKeeper | undefined
  const watched = watchStream(stream, {
    onChunk: (chunk) => counter.add(chunk),
    async onEnd(outcome) {
      const counted = counter.total()
      const failure = await keeper?.settle(counted)
      const used = isInputError(failure) ? undefined : counted
      try {
        onEnd?.({ outcome, used, error: failure ?? counter.error })
      } catch {}
    },
  })
  // A stream that is locked has thrown by now, before anything was armed.
  keeper = new HoldKeeper(hold, times, timers)
  return watched
}

function timersOf(clock: Clock = SYSTEM): TimerClock {
  if (typeof clock?.now !== 'function') throw mustBe('ERR_OPTION', 'clock', 'an object with now()', clock)
  const after = clock.after === undefined ? SYSTEM.after : clock.after.bind(clock)
  return { now: () => clock.now(), after }
}

/** The system's clock. Its timers do not keep a process alive: a forgotten stream does not stop it from ending. */
const SYSTEM: TimerClock = {
  now: () => Date.now(),
  after(delayMs, callback) {
    const timer: unknown = setTimeout(callback, delayMs)
    ;(timer as { unref?(): void }).unref?.()
    return () => clearTimeout(timer as Parameters<typeof clearTimeout>[0])
  },
}
