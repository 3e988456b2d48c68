// What a store must do. A store keeps the state, and its clock rules.
// What must stay true: each method of a tally is one atomic step, and gives the answer that the rules' own definitions give.

import type { TimerClock } from './clock.ts'
import type { Decision } from './decision.ts'
import type { Rule } from './rule.ts'

/** Whether a store answers at once or with a promise. */
export type Mode = 'sync' | 'async'

/** What a call answers: the value itself on a synchronous store, a promise of it on any other. */
export type Answer<M extends Mode, T> = M extends 'sync' ? T : Promise<T>

export interface Store<M extends Mode = Mode> {
  readonly mode: M
  /** What waits are timed by. */
  readonly clock: TimerClock
  /** Opens a tally for a limiter's rules. Tallies of one store whose rules share algorithm and name share their state. */
  tally(rules: readonly Rule[]): Tally<M>
  /** Drops what has expired; → how many states (one for each rule and key) it dropped. */
  clean(): Answer<M, number>
  /** How many states (one for each rule and key) it holds, those included that have expired and not been dropped yet. */
  readonly size: Answer<M, number>
  /** Releases timers and handles. */
  close(): Answer<M, void>
}

/** The counts of one limiter's rules in a store. Keys and costs have been checked; `rule` is an index into the rules. */
export interface Tally<M extends Mode = Mode> {
  /** Decides over all rules and spends on all, or, if one denies, on none but those that count denied hits. */
  hit(key: string, cost: number): Answer<M, Decision>
  /** Decides as `hit` would and changes nothing. `cost` may be 0. */
  peek(key: string, cost: number): Answer<M, Decision>
  /** Spends on one rule without asking; → units used. */
  inc(rule: number, key: string, cost: number): Answer<M, number>
  /** Units used now. */
  get(rule: number, key: string): Answer<M, number>
  /** Puts the count of one rule at `used`; → units used. */
  set(rule: number, key: string, used: number): Answer<M, number>
  /** When the state ends, in ms since the epoch; 0 if there is none. */
  expiresAt(rule: number, key: string): Answer<M, number>
  /** Gives `cost` units back on one rule, or on every rule if none is named; → units used on that one, or on the first. */
  refund(key: string, cost: number, rule?: number): Answer<M, number>
  /** Forgets the key on every rule. */
  reset(key: string): Answer<M, void>
  /** Which part of the store answers for a key, where parts fail each by itself, as the servers of a cluster do. */
  partOf?(key: string): string
}
