// A call on a store, as data: an operation, and the charges that it is about.

/**
 * - `hit`: decides over all charges, and spends on all of them or, if one denies, on none but the rules that count denied hits.
 * - `timedHit`: as `hit`; its figures are followed by the store's time, so that its charges can be given back exactly.
 * - `peek`: decides as `hit` would, and changes nothing.
 * - `inc`: spends without a decision, also past the limit.
 * - `set`: puts the count at the amount, counting from now.
 * - `refund`: gives units back, never above full.
 * - `reset`: forgets the states.
 * - `get`: reads the units used.
 * - `expiresAt`: reads when the state ends, in ms since the epoch; 0 if there is none.
 */
export type Operation = 'hit' | 'timedHit' | 'peek' | 'inc' | 'set' | 'refund' | 'reset' | 'get' | 'expiresAt'

/** One rule, one key, one amount. */
export interface Charge {
  /** Index into the rules that the tally was opened with. A call has at most one charge for each rule. */
  readonly rule: number
  /** The state is kept under the rule and this key. */
  readonly key: string
  /** The cost; for `set` the new count; 0 where the operation needs none. */
  readonly amount: number
  /**
   * Only for `refund`: the end of the state just after these units were spent. The refund then takes nothing from units that were
   * spent later, in a new window.
   */
  readonly endsAt?: number
}

/** Keys and amounts have been checked. */
export interface Call {
  readonly operation: Operation
  /** At least one, in the order of the rules. */
  readonly charges: readonly Charge[]
}

/**
 * The answer to a call. For `hit` and `peek`, `FIGURES` numbers a charge: units used, ms until the cost passes (0 if it passed,
 * or would by this rule alone; Infinity if it never will), ms until the key is as new. For every other operation one number: the
 * units used on the first charge, or what was read; 0 for `reset`.
 */
export type Figures = readonly number[]

/** Numbers for each charge of a decision. */
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
