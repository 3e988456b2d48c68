// The contract between a limiter and its holds, which `reserve` needs.

import type { Call } from './call.ts'
import type { Decision } from './decision.ts'
import type { Duration } from './duration.ts'
import type { LimiterContext } from './limiter-context.ts'
import type { Result, Store, Timing } from './store.ts'
import type { Cost, Subject } from './subject.ts'
import type { Patience } from './waiting.ts'

export interface ReserveOptions {
  /**
   * Units to hold: an object with a number for each rule name, or one number for every rule that `cost` does not name. A
   * `concurrency` rule holds one place, unless this says more.
   */
  readonly hold?: Cost
  /** Units to spend at once on the rules that are not held. Default: 1. */
  readonly cost?: Cost
  /** The smallest number of units that are held if `hold` does not fit. Default: `hold`, so that less is no use. */
  readonly atLeast?: Cost
  /** Time after which the hold expires, at most `'7d'`. Default: the shortest `ttl` of the `concurrency` rules, or `'1m'`. */
  readonly ttl?: Duration
  /** At the end of `ttl`, held units are charged (`'charge'`, default) or released. Places of `concurrency` rules are released. */
  readonly expired?: 'charge' | 'release'
}

/** Options of a `reserve` that may wait its turn. */
export interface PatientReserveOptions extends ReserveOptions, Patience {}

/** Options of a `reserve` that waits its turn. It needs the limiter's option `waiting`. */
export type WaitingReserveOptions = PatientReserveOptions & ({ readonly maxWaitMs: number } | { readonly signal: AbortSignal })

/** The key of `await using`; never if the program is compiled without it. */
type DisposeKey = SymbolConstructor extends { readonly asyncDispose: infer K extends symbol } ? K : never

/** `await using` cancels a hold, unless it was settled or cancelled before. */
type Disposes = { readonly [K in DisposeKey]: () => Promise<void> }

/** Units that are set aside until they are settled, cancelled or expire. */
export interface HeldUnits<T extends Timing = Timing> extends Disposes {
  /** The units that are held, by rule name. Empty if the call was denied. */
  readonly granted: Readonly<Record<string, number>>
  /** The time when the hold expires, in ms since the epoch, by the store's clock. 0 if the call was denied. */
  readonly expiresAt: number
  /**
   * A text for `openHold`, with which another process can end the hold. Whoever has it can end the hold, and it is not signed. Empty
   * if nothing is held.
   */
  readonly token: string
  /**
   * Ends the hold, and charges what was used: a number for all held rules, or an object with a number for each rule name. A rule
   * that is not named is charged as many units as it holds. Fails with ERR_HOLD if the hold has ended.
   */
  settle(used?: Cost): Result<T, void>
  /** Ends the hold, and charges nothing. Fails with ERR_HOLD if the hold has ended. */
  cancel(): Result<T, void>
  /** Lets the hold expire after `ttl` from now. Fails with ERR_HOLD if the hold has ended. */
  extend(ttl: Duration): Result<T, void>
}

/** The result of `reserve`. */
export interface Hold<T extends Timing = Timing> extends HeldUnits<T> {
  /** True if the units are held. If false, nothing is held and nothing was spent. */
  readonly allowed: boolean
  readonly decision: Decision
}

/** The result of `run`: the value of the function, or the denial because of which it was not called. */
export type RunResult<V, T extends Timing = Timing> =
  | { readonly allowed: true; readonly value: V; readonly hold: Hold<T> }
  | { readonly allowed: false; readonly value?: undefined; readonly hold: Hold<T> }

/** The methods of a limiter for holds. */
export interface Reserving<T extends Timing = Timing> {
  reserve(subject: Subject, options: PatientReserveOptions): Result<T, Hold<T>> | Promise<Hold<T>>
  run<V>(subject: Subject, options: PatientReserveOptions, work: (hold: Hold<T>) => V | Promise<V>): Promise<RunResult<V, T>>
  openHold(token: string): HeldUnits<T>
  /** Throws if a call spends on a rule that has nothing but holds. */
  check(call: Call): void
}

/** The option `holds` of a limiter. */
export interface HoldsOption {
  /** Gives a store the parts that it needs for holds. A bundle without holds does not contain them. */
  prepare<S extends Store>(store: S): S
  open<T extends Timing>(context: LimiterContext<T>): Reserving<T>
}
