// Keeps a hold open while a stream or a response runs, and ends it.
// Invariants:
// - A hold is settled or cancelled once.
// - A hold is extended at most `EXTENSIONS` times in each ttl, and not after `longestMs`. Then it expires.

import type { TimerClock } from '../core/clock.ts'
import { type Duration, durationMs } from '../core/duration.ts'
import { mustBe } from '../core/errors.ts'
import { LONGEST_HOLD_MS } from '../core/holds.ts'
import type { HeldUnits } from '../core/reserving.ts'
import type { Cost } from '../core/subject.ts'
import { isWhole } from '../core/whole-numbers.ts'

/** A third of the ttl lies between two extensions, so that one may fail before the hold expires. */
const EXTENSIONS = 3

const LEAST_TTL_MS = 1000

export const DEFAULT_LONGEST: Duration = '1h'

export interface HoldTimes {
  /** Time after which the hold expires if it is not extended any more. */
  readonly ttlMs: number
  /** Time after which the hold is not extended any more. */
  readonly longestMs: number
}

/** Reads the options `ttl` and `longest`. Throws if they cannot be read, or if the hold would be extended too often. */
export function holdTimes(ttl: Duration, longest: Duration = DEFAULT_LONGEST): HoldTimes {
  const ttlMs = durationMs(ttl, 'ttl')
  if (!isWhole(ttlMs, LEAST_TTL_MS, LONGEST_HOLD_MS)) throw mustBe('ERR_OPTION', 'ttl', 'at least 1s and at most 7d', ttl)
  return { ttlMs, longestMs: durationMs(longest, 'longest') }
}

/** Codes of errors about the units that a settle was given. It was refused before the store was asked. */
const INPUT_ERRORS: readonly unknown[] = ['ERR_COST', 'ERR_RULE_NAME']

/** True if a settle was refused because of its units. Then all that are held were charged. */
export function isInputError(error: unknown): boolean {
  return INPUT_ERRORS.includes(codeOf(error))
}

export class HoldKeeper {
  readonly #hold: HeldUnits
  readonly #times: HoldTimes
  readonly #clock: TimerClock
  readonly #lastMs: number
  #hasEnded = false
  #stop: () => void = () => {}

  constructor(hold: HeldUnits, times: HoldTimes, clock: TimerClock) {
    this.#hold = hold
    this.#times = times
    this.#clock = clock
    this.#lastMs = clock.now() + times.longestMs
    this.#arm()
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /**
   * Charges the units that were used, or all that are held. Returns the error if that fails. If the units are not valid, all that
   * are held are charged.
   */
  async settle(used: Cost | undefined): Promise<unknown> {
    if (!this.#end()) return undefined
    const error = await caught(() => this.#hold.settle(used))
    if (!isInputError(error)) return error
    await caught(() => this.#hold.settle())
    return error
  }

  /** Charges nothing. Returns the error if that fails. */
  async cancel(): Promise<unknown> {
    return this.#end() ? caught(() => this.#hold.cancel()) : undefined
  }

  /** Returns false if the hold has ended before. */
  #end(): boolean {
    if (this.#hasEnded) return false
    this.#hasEnded = true
    this.#stop()
    return true
  }

  #arm(): void {
    const extend = (): void => {
      if (this.#clock.now() >= this.#lastMs) return
      this.#arm()
      void this.#extend()
    }
    // A response or stream that nobody ends does not stop a process from ending.
    this.#stop = this.#clock.after(Math.floor(this.#times.ttlMs / EXTENSIONS), extend, true)
  }

  /** An extension that fails is tried again after the same time. The settle reports a hold that has expired. */
  async #extend(): Promise<void> {
    const error = await caught(() => this.#hold.extend(this.#times.ttlMs))
    if (codeOf(error) === 'ERR_HOLD') this.#stop()
  }
}

/** Returns the error of a call; undefined if it succeeds. Over a synchronous store, the call is done when this returns. */
async function caught(call: () => unknown): Promise<unknown> {
  try {
    await call()
    return undefined
  } catch (error) {
    return error ?? new Error('a call failed, and not with an error')
  }
}

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown } | undefined)?.code
}
