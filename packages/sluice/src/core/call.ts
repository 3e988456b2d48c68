// A call on a store, as data: an operation and its charges.

/**
 * - `hit`: decides over all charges. If all fit, it spends on all; else it spends only on rules that count denied hits.
 * - `timedHit`: as `hit`. The store's time follows its figures, so that its charges can be given back exactly.
 * - `peek`: decides as `hit` would, and changes nothing.
 * - `inc`: spends without a decision, also past the limit.
 * - `set`: sets the units used to the amount, as if they were spent now.
 * - `refund`: gives units back, never above full.
 * - `reset`: deletes the states.
 * - `get`: reads the units used.
 * - `expiresAt`: reads the time when the state ends, in ms since the epoch; 0 if there is no state.
 */
export type Operation = 'hit' | 'timedHit' | 'peek' | 'inc' | 'set' | 'refund' | 'reset' | 'get' | 'expiresAt'

/** One rule, one key, one amount. */
export interface Charge {
  /** Index into the rules that the tally was opened with. A call has at most one charge for each rule. */
  readonly rule: number
  /** A store keeps the state under the rule and this key. */
  readonly key: string
  /** The cost; for `set`, the new count; 0 if the operation needs no amount. */
  readonly amount: number
  /**
   * Only for `refund`: the end of the state just after these units were spent. With it, the refund never gives back units that
   * were spent later, in a new window.
   */
  readonly endsAt?: number
}

/** An operation with its charges. Invariant: keys and amounts have been checked. */
export interface Call {
  readonly operation: Operation
  /** At least one, in the order of the rules. */
  readonly charges: readonly Charge[]
}

/**
 * The numbers that a call is answered with.
 *
 * For `hit`, `timedHit` and `peek` there are `FIGURES` numbers for each charge:
 * 1. Units used.
 * 2. Time until the cost passes, in ms: 0 if this rule alone lets it pass, Infinity if it never will.
 * 3. Time until the key is as if it had never been hit, in ms.
 *
 * For every other operation there is one number: the units used on the first charge, or the value that was read; 0 for `reset`.
 */
export type Figures = readonly number[]

/** Number of figures for each charge of a decision. */
export const FIGURES = 3

/** Number of figures in the answer to a call. */
export function figureCount({ operation, charges }: Call): number {
  if (operation === 'hit' || operation === 'peek') return charges.length * FIGURES
  return operation === 'timedHit' ? charges.length * FIGURES + 1 : 1
}

/** True if the call is answered with a decision. */
export function isDecision({ operation }: Call): boolean {
  return operation === 'hit' || operation === 'peek'
}
