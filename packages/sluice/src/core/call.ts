// A call on a store, as data: an operation and its charges.

/**
 * - `hit`: decides over all charges together. If every charge fits, all are spent. If one does not fit, the call is denied, and
 *   only charges on rules that count denied hits are spent.
 * - `timedHit`: a `hit` with one more figure at the end, the store's time. An engine needs this time to give the charges back.
 * - `peek`: returns the decision of a `hit`, and changes nothing.
 * - `inc`: spends without a decision, also past the limit.
 * - `set`: sets the units used to the amount, as if they were spent now.
 * - `refund`: gives units back, at most as many as are used.
 * - `reset`: deletes the states.
 * - `get`: reads the units used.
 * - `expiresAt`: reads the time when the state ends, in ms since the epoch; 0 if there is no state.
 * - `reserve`: decides over all charges together. If every charge fits, those with `least` are held, and the others are spent.
 * - `settle`: ends a hold, and spends the amount of each charge, also past the limit; −1 stands for all units of the hold.
 * - `cancel`: ends a hold, and spends nothing.
 * - `extend`: lets a hold expire at another time.
 */
export type Operation =
  | 'hit'
  | 'timedHit'
  | 'peek'
  | 'inc'
  | 'set'
  | 'refund'
  | 'reset'
  | 'get'
  | 'expiresAt'
  | 'reserve'
  | 'settle'
  | 'cancel'
  | 'extend'

/** One rule, one key, one amount. */
export interface Charge {
  /** Index of the rule in the list that the tally was opened with. A call has at most one charge for each rule. */
  readonly rule: number
  /** The key that the rule counts by. A store keeps one state for each rule and key. */
  readonly key: string
  /** The cost; for `set`, the new count; 0 if the operation needs no amount. */
  readonly amount: number
  /**
   * Only for `refund`: the end of the state, as it was just after these units were spent. A refund with `endsAt` gives back only
   * units of that charge, and never units that were spent later, in a new window.
   */
  readonly endsAt?: number
  /** Only for `reserve`: the amount is held, and not spent. If it does not fit, fewer units are held, but no fewer than `least`. */
  readonly least?: number
}

/** The terms of a hold. `settle`, `cancel` and `extend` find it by its id. */
export interface HoldTerms {
  /** A random whole number below 2^53. */
  readonly id: number
  /** Time from now after which the hold expires, in ms. Only for `reserve` and `extend`. */
  readonly ttlMs: number
  /** True if the units are charged when the hold expires, false if they are released. Only for `reserve`. */
  readonly isCharged: boolean
  /** The most holds of one state. Only for `reserve`. */
  readonly most: number
}

/** An operation with its charges. Invariant: keys and amounts have been checked. */
export interface Call {
  readonly operation: Operation
  /** At least one, in the order of the rules. */
  readonly charges: readonly Charge[]
  /** Only for `refund`: the store or the fallback, whichever spent the units. The guard gives them back there, or nowhere. */
  readonly source?: 'store' | 'fallback' | undefined
  /** Set for `reserve`, `settle`, `cancel` and `extend`, and for no other operation. */
  readonly hold?: HoldTerms | undefined
}

/**
 * The answer to a call, as numbers.
 *
 * A `hit`, `timedHit` or `peek` has `FIGURES` numbers for each charge:
 * 1. Units used.
 * 2. Time until this rule lets the cost pass, in ms: 0 if it does so now, Infinity if it never will.
 * 3. Time until the key is as if it had never been hit, in ms.
 *
 * After the charges of a `timedHit` comes the store's time, in ms since the epoch. After those of a `reserve` come the units that
 * each charge holds, the store's time, and the outcome.
 *
 * Every other operation has one number. `inc`, `set` and `refund`: the units used on the first charge. `get` and `expiresAt`: the
 * value that was read. `reset`: 0. `settle`, `cancel` and `extend`: 1, or 0 if there is no such hold.
 */
export type Figures = readonly number[]

/** Number of figures for each charge of a decision. */
export const FIGURES = 3

/** Number of figures in the answer to a call. */
export function figureCount({ operation, charges }: Call): number {
  if (operation === 'hit' || operation === 'peek') return charges.length * FIGURES
  if (operation === 'reserve') return charges.length * (FIGURES + 1) + 2
  return operation === 'timedHit' ? charges.length * FIGURES + 1 : 1
}

/** True if the call is answered with a decision. */
export function isDecision({ operation }: Call): boolean {
  return operation === 'hit' || operation === 'peek' || operation === 'reserve'
}
