// The contract of a store. A store keeps the states of keys and gives the time.
// Invariant: each call on a tally is one atomic step, with the same figures as `step`.

import type { Call, Figures } from './call.ts'
import type { TimerClock } from './clock.ts'
import type { Decision } from './decision.ts'
import type { MakeGuard } from './guard.ts'
import type { Rule } from './rule.ts'

/** `sync`: the store returns values. `async`: the store returns promises. */
export type Timing = 'sync' | 'async'

/** The result of a call: the value itself on a synchronous store, a promise of it on any other store. */
export type Result<T extends Timing, V> = T extends 'sync' ? V : Promise<V>

export interface Store<T extends Timing = Timing> {
  readonly timing: T
  /** Times waits, deadlines and retries. */
  readonly clock: TimerClock
  /**
   * Opens a tally for a limiter's rules. Tallies of one store share the states of rules with the same algorithm, name and `per`.
   */
  tally(rules: readonly Rule[]): Tally<T>
  /** Guards a limiter's calls against failures of this store. Every store outside of the process has it. */
  readonly guard?: MakeGuard
  /** Drops expired states. Returns their number (one for each rule and key). */
  clean(): Result<T, number>
  /** Number of states (one for each rule and key), including expired states that have not been dropped yet. */
  readonly size: Result<T, number>
  /** Releases timers and handles. */
  close(): Result<T, void>
}

/**
 * The asker of a call, as a store sees it. A store that lets calls wait in this process drops a call whose asker has left, so that
 * a call never counts after its caller got another result.
 */
export interface Asker {
  /** True after the deadline of the call. */
  readonly hasLeft: boolean
  /** The store sets it to true while the call is certainly not counted, and would be dropped if the asker left. */
  isUncounted: boolean
}

/** The states of one limiter's rules in a store. */
export interface Tally<T extends Timing = Timing> {
  /** Decides a call in one atomic step. */
  ask(call: Call, asker?: Asker): Result<T, Figures>
  /** Shortcut of a synchronous store for the most frequent call: a hit with one key and one cost under all rules. */
  hit?(key: string, cost: number): Decision
  /**
   * Returns the names of the parts that a call needs. Only for a store whose parts fail independently, such as a cluster's
   * servers.
   */
  partsOf?(call: Call): readonly string[]
  /**
   * Names the parts that failed a call or did not answer it in time. The others are not to blame. Undefined if that is not known, or
   * if the call needs one part only.
   */
  failedPartsOf?(call: Call): readonly string[] | undefined
}
