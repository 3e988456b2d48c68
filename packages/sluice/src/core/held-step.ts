// The step of a store for calls on states with open holds, and for calls that open or end holds.
// A state with holds is read as if its held units were spent now. So `hit` sees holds, and no rule has to know of them.
// Invariant: used + held units stay within every limit, except after a settle that reports more than was held.

import { type Call, type Charge, FIGURES, type Figures, type HoldTerms } from './call.ts'
import { CopiedStates } from './copied-states.ts'
import type { Holds } from './holds.ts'
import type { Rule } from './rule.ts'
import type { State, States } from './step.ts'

/** States that can have holds. */
export interface HeldStates extends States {
  /** Returns the open holds of a state that was loaded. Changes are kept by `save`. */
  holds(i: number): Holds
  /** Returns a copy of a loaded state, for calculations. The next call may overwrite it. */
  scratch(i: number): State
  /**
   * Makes space in a log for one more entry. The state must be loaded again after it. `spends` is the number of entries that are about
   * to be added, this one included. A store that copies the log makes space for all of them at once.
   */
  makeRoom(i: number, nowMs: number, spends: number): void
  /** Called instead of `save` if a loaded state was only read. */
  leave(i: number): void
}

/** Outcomes of a `reserve`: the last of its figures. */
export const DENIED = 0
export const GRANTED = 1
/** One of the states has as many holds as the call allows, or the store has no space for more. */
export const FULL_OF_HOLDS = 2

/** Decides a call at `nowMs`, the store's time, over states with or without holds. */
export function heldStep(call: Call, states: HeldStates, nowMs: number): Figures {
  const { operation, charges } = call
  switch (operation) {
    case 'reset':
      for (let i = 0; i < charges.length; i++) states.drop(i)
      return [0]
    case 'peek':
    case 'get':
    case 'expiresAt':
      return read(call, new CopiedStates(states, charges.length), nowMs)
    case 'settle':
    case 'cancel':
    case 'extend':
      return [isOpen(call, states, nowMs) ? endHold(call, states, nowMs) : 0]
  }
  for (let i = 0; i < charges.length; i++) expire(states, i, nowMs)
  switch (operation) {
    case 'hit':
      return hit(charges, states, nowMs)
    case 'timedHit':
      return [...hit(charges, states, nowMs), nowMs]
    case 'inc':
    case 'set':
      return [put(operation, charges[0].amount, states, nowMs)]
    case 'refund':
      return [refund(charges, states, nowMs)]
    case 'reserve':
      return reserve(call, states, nowMs)
  }
}

/** Reads figures. The states may be changed, because they are copies. */
function read({ operation, charges }: Call, states: CopiedStates, nowMs: number): Figures {
  const figures: number[] = []
  for (let i = 0; i < charges.length; i++) {
    expire(states, i, nowMs)
    writeFigures(figures, i, states, nowMs, charges[i].amount)
  }
  if (operation === 'peek') return figures
  if (operation === 'get') return [figures[0]]
  return [figures[2] === 0 ? 0 : nowMs + figures[2]]
}

/**
 * Brings a state and its holds to the time `nowMs`. A hold that has expired is charged at the time of its end, or released. Several
 * are charged in the order of their ends.
 */
function expire(states: HeldStates, i: number, nowMs: number): void {
  const expired = states.holds(i).takeExpired(nowMs)
  if (expired.length > 0) {
    const { countsFrom = 0 } = states.load(i).rule
    const charged = expired.filter(({ isCharged, expiresAt }) => isCharged && expiresAt >= countsFrom)
    for (const [spent, { expiresAt, units }] of charged.entries()) spend(states, i, expiresAt, units, charged.length - spent)
  }
  const { rule, cells, at } = states.load(i)
  rule.settle(cells, at, nowMs)
}

/** Ends the holds of a state that have expired, and keeps it. */
export function endExpired(states: HeldStates, i: number, nowMs: number): void {
  expire(states, i, nowMs)
  states.save(i, usedOf(states, i, nowMs))
}

/** Spends units. `spends` is the number of spends that are about to come, this one included. */
function spend(states: HeldStates, i: number, nowMs: number, units: number, spends = 1): void {
  states.makeRoom(i, nowMs, spends)
  const { rule, cells, at } = states.load(i)
  rule.settle(cells, at, nowMs)
  rule.spend(cells, at, nowMs, units)
}

/** Returns the state as if its held units were spent now. */
function withHolds(states: HeldStates, i: number, nowMs: number): State {
  const { units } = states.holds(i)
  if (units === 0) return states.load(i)
  const state = states.scratch(i)
  state.rule.spend(state.cells, state.at, nowMs, units)
  return state
}

/** Writes the three figures of a charge. Its wait is 0 if no amount is given. Returns the units used. */
function writeFigures(figures: number[], i: number, states: HeldStates, nowMs: number, amount?: number): number {
  const { rule } = states.load(i)
  const at = i * FIGURES
  if (rule.isHeld) {
    const holds = states.holds(i)
    figures[at] = holds.units
    figures[at + 1] = amount === undefined ? 0 : waitForHolds(rule, holds, nowMs, amount)
    figures[at + 2] = Math.max(0, lastEnd(holds) - nowMs)
  } else {
    const state = withHolds(states, i, nowMs)
    const endsAt = endOf(state, nowMs)
    figures[at] = rule.used(state.cells, state.at, nowMs)
    figures[at + 1] = amount === undefined ? 0 : rule.waitMs(state.cells, state.at, nowMs, amount)
    figures[at + 2] = endsAt === 0 ? 0 : endsAt - nowMs
  }
  return figures[at]
}

/** Returns the units used. Held units count as used. */
function usedOf(states: HeldStates, i: number, nowMs: number): number {
  const { rule, cells, at } = withHolds(states, i, nowMs)
  return rule.isHeld ? states.holds(i).units : rule.used(cells, at, nowMs)
}

/** Returns the time until so many holds have expired that `amount` more units fit, under a rule that has nothing but holds. */
function waitForHolds({ limit }: Rule, holds: Holds, nowMs: number, amount: number): number {
  if (amount > limit) return Number.POSITIVE_INFINITY
  let over = holds.units + amount - limit
  if (over <= 0) return 0
  let first = holds.first()
  for (let hold = first; hold >= 0; hold = holds.next(hold)) if (holds.expiresAt(hold) < holds.expiresAt(first)) first = hold
  // One hold is mostly enough. Then they are not sorted.
  if (first >= 0 && holds.unitsOf(first) >= over) return holds.expiresAt(first) - nowMs
  const byEnd: number[] = []
  for (let hold = holds.first(); hold >= 0; hold = holds.next(hold)) byEnd.push(hold)
  for (const hold of byEnd.sort((a, b) => holds.expiresAt(a) - holds.expiresAt(b))) {
    over -= holds.unitsOf(hold)
    if (over <= 0) return holds.expiresAt(hold) - nowMs
  }
  return Number.POSITIVE_INFINITY
}

/** Returns the time when the last of the holds expires; 0 if there is none. */
function lastEnd(holds: Holds): number {
  let end = 0
  for (let hold = holds.first(); hold >= 0; hold = holds.next(hold)) end = Math.max(end, holds.expiresAt(hold))
  return end
}

function endOf({ rule, cells, at }: State, nowMs: number): number {
  return rule.log === undefined ? cells[at] : rule.log.endsAt(cells, at, nowMs)
}

function hit(charges: readonly Charge[], states: HeldStates, nowMs: number): number[] {
  const figures: number[] = []
  let allowed = true
  for (let i = 0; i < charges.length; i++) {
    writeFigures(figures, i, states, nowMs, charges[i].amount)
    if (figures[i * FIGURES + 1] > 0) allowed = false
  }
  if (allowed || states.countsDenied) states.prepare(allowed, nowMs)
  for (let i = 0; i < charges.length; i++) {
    const { amount } = charges[i]
    if (allowed || states.load(i).rule.countsDenied) {
      spend(states, i, nowMs, amount)
      writeFigures(figures, i, states, nowMs, allowed ? undefined : amount)
    }
    states.save(i, figures[i * FIGURES])
  }
  return figures
}

function put(operation: 'inc' | 'set', amount: number, states: HeldStates, nowMs: number): number {
  states.prepare(true, nowMs)
  if (operation === 'inc') spend(states, 0, nowMs, amount)
  else {
    states.makeRoom(0, nowMs, 1)
    const { rule, cells, at } = states.load(0)
    // Held units count as used. They stay held.
    rule.put(cells, at, nowMs, Math.max(0, amount - states.holds(0).units))
  }
  const used = usedOf(states, 0, nowMs)
  states.save(0, used)
  return used
}

function refund(charges: readonly Charge[], states: HeldStates, nowMs: number): number {
  let usedOnFirst = 0
  charges.forEach(({ amount, endsAt }, i) => {
    const { rule, cells, at } = states.load(i)
    rule.refund(cells, at, nowMs, amount, endsAt)
    const used = usedOf(states, i, nowMs)
    states.save(i, used)
    if (i === 0) usedOnFirst = used
  })
  return usedOnFirst
}

/**
 * Spends the charges without `least`, and holds the others, all or nothing. The figures of a decision are followed by the units that
 * each charge holds now, the store's time, and the outcome.
 */
function reserve({ charges, hold }: Call, states: HeldStates, nowMs: number): Figures {
  const { id, ttlMs, isCharged, most } = hold as HoldTerms
  const count = charges.length
  const figures = new Array<number>(count * (FIGURES + 1) + 2).fill(0)
  let outcome = GRANTED
  for (let i = 0; i < count; i++) {
    const { amount, least } = charges[i]
    const used = writeFigures(figures, i, states, nowMs, least ?? amount)
    const { isFull, length } = states.holds(i)
    if (least !== undefined && (isFull || length >= most)) outcome = FULL_OF_HOLDS
    else if (figures[i * FIGURES + 1] > 0 && outcome === GRANTED) outcome = DENIED
    if (least !== undefined) figures[count * FIGURES + i] = Math.min(amount, states.load(i).rule.limit - used)
  }
  const allowed = outcome === GRANTED
  if (allowed || (outcome === DENIED && states.countsDenied)) states.prepare(allowed, nowMs)
  for (let i = 0; i < count; i++) {
    const { amount, least } = charges[i]
    const { rule } = states.load(i)
    const isSpent = least === undefined && (allowed || (outcome === DENIED && rule.countsDenied))
    if (isSpent) spend(states, i, nowMs, amount)
    const units = figures[count * FIGURES + i]
    if (allowed && least !== undefined) {
      states.holds(i).add({ id, units, expiresAt: nowMs + ttlMs, isCharged: isCharged && !rule.isHeld })
    } else figures[count * FIGURES + i] = 0
    if (allowed || isSpent) writeFigures(figures, i, states, nowMs, allowed ? undefined : amount)
    states.save(i, figures[i * FIGURES])
  }
  figures[count * (FIGURES + 1)] = nowMs
  figures[count * (FIGURES + 1) + 1] = outcome
  return figures
}

/** True if every charge still has the hold. */
function isOpen({ charges, hold }: Call, states: HeldStates, nowMs: number): boolean {
  for (let i = 0; i < charges.length; i++) {
    const holds = states.holds(i)
    const held = holds.find((hold as HoldTerms).id)
    if (held < 0 || holds.expiresAt(held) <= nowMs) return false
  }
  return true
}

/** Settles, cancels or extends a hold on every charge. Returns 1. */
function endHold({ operation, charges, hold }: Call, states: HeldStates, nowMs: number): number {
  const { id, ttlMs } = hold as HoldTerms
  for (let i = 0; i < charges.length; i++) expire(states, i, nowMs)
  states.prepare(true, nowMs)
  for (let i = 0; i < charges.length; i++) {
    const { amount } = charges[i]
    const holds = states.holds(i)
    const held = holds.find(id)
    const units = operation === 'settle' ? (amount < 0 ? holds.unitsOf(held) : amount) : 0
    if (operation === 'extend') holds.extend(held, nowMs + ttlMs)
    else holds.drop(held)
    if (units > 0 && !states.load(i).rule.isHeld) spend(states, i, nowMs, units)
    states.save(i, usedOf(states, i, nowMs))
  }
  return 1
}
