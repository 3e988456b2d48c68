// The contract of a store. A store keeps the states of keys and gives the time.
// Invariant: each call on a tally is one atomic step, and its figures are those of `step`.

import type { Call, Figures } from './call.ts'
import type { TimerClock } from './clock.ts'
import type { Decision } from './decision.ts'
import type { MakeGuard } from './guard.ts'
import type { Rule } from './rule.ts'

/** `sync`: the store returns values. `async`: the store returns promises. */
export type Timing = 'sync' | 'async'

/** The result of a method: a value if the store is synchronous, else a promise of the value. */
export type Result<T extends Timing, V> = T extends 'sync' ? V : Promise<V>

export interface Store<T extends Timing = Timing> {
  readonly timing: T
  /** The clock for waits, deadlines and retries. */
  readonly clock: TimerClock
  /**
   * Opens a tally for a limiter's rules. Tallies of one store share the states of rules with the same algorithm, name and `per`.
   */
  tally(rules: readonly Rule[]): Tally<T>
  /** Makes the guard that handles failures of this store. Every asynchronous store has it, and every synchronous one that can fail. */
  readonly guard?: MakeGuard<T>
  /** Drops expired states. Returns their number: one for each rule and key. */
  clean(): Result<T, number>
  /** Number of states: one for each rule and key. Expired states count until they are dropped. */
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
  /**
   * True if an earlier call on one of the same keys was refused and waits to be tried again. A store that sends calls in their order
   * refuses this one too, so that it waits behind the other.
   */
  readonly isBehind?: boolean
}

/** An asker that is told the outcome of its call, without a promise. One of the methods is called, once. */
export interface ToldAsker extends Asker {
  resolve(figures: Figures | Promise<Figures>): void
  reject(error: unknown): void
}

/** The states of one limiter's rules in a store. */
export interface Tally<T extends Timing = Timing> {
  /** Decides a call in one atomic step. */
  ask(call: Call, asker?: Asker): Result<T, Figures>
  /**
   * Shortcut of an asynchronous store: decides a call as `ask` does, and tells its asker the outcome. It may throw, as `ask` may.
   */
  askFor?(call: Call, asker: ToldAsker): void
  /** Shortcut of a synchronous store for the most frequent call: a hit with the same key and the same cost for all rules. */
  hit?(key: string, cost: number): Decision
  /**
   * Returns the names of the servers that a call needs. Only a store whose servers fail independently has this method, such as a
   * cluster.
   */
  partsOf?(call: Call): readonly string[]
  /** Returns the outcome of each server that a call has asked. Undefined if they are not known, or if the call needs only one. */
  outcomesOf?(call: Call): PartOutcomes | undefined
}

/** The names of the servers that answered a call, also by a fatal error, and of those that failed it or did not answer in time. */
export interface PartOutcomes {
  readonly answered: readonly string[]
  readonly failed: readonly string[]
}
