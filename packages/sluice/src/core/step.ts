// The step of a store: it decides one call over the states of its charges, all or nothing.
// Invariant: this is the only place that decides over several charges. The programs in stores/redis and
// stores/postgres translate it.

import { type Call, type Charge, FIGURES, type Figures } from './call.ts'
import type { Rule } from './rule.ts'

/** The state of one charge: the cells from `at` on. */
export interface State {
  readonly rule: Rule
  readonly cells: Float64Array
  readonly at: number
}

/** The states of a call's charges, by the charge's index in the call. An engine provides them. */
export interface States {
  /** True if one of the rules counts denied hits. */
  readonly countsDenied: boolean
  /**
   * Returns the state for settling and changing. If the store keeps no such state, all cells are 0, and changes are lost unless
   * `prepare` was called before.
   */
  load(i: number): State
  /** Returns the state for reading only. It is settled, except a log: a log can be read without settling. */
  view(i: number, nowMs: number): State
  /** True if the store keeps a state for the charge. */
  isKept(i: number): boolean
  /**
   * Makes space for the states that the call will write: all of them, or only those of rules that count denied hits. It is called
   * once in a call. It may move states in memory, so that states must be loaded again after it.
   */
  prepare(all: boolean, nowMs: number): void
  /** Returns the state for changing, after `prepare(true)`. It is settled if it was settled before `prepare`. */
  prepared(i: number): State
  /** Called after a loaded state has changed. `used` is the number of units used. */
  save(i: number, used: number): void
  /** Deletes the state, if the store keeps one. */
  drop(i: number): void
}

/** Decides a call on states without holds, at `nowMs`, the store's time. Calls that open or end holds need `heldStep`. */
export function step({ operation, charges }: Call, states: States, nowMs: number): Figures {
  switch (operation) {
    case 'hit':
      return hit(charges, states, nowMs)
    case 'timedHit':
      return [...hit(charges, states, nowMs), nowMs]
    case 'peek':
      return peek(charges, states, nowMs)
    case 'inc':
    case 'set':
      return [put(operation, charges[0].amount, states, nowMs)]
    case 'refund':
      return [refund(charges, states, nowMs)]
    case 'reset':
      for (let i = 0; i < charges.length; i++) states.drop(i)
      return [0]
    case 'get': {
      const { rule, cells, at } = states.view(0, nowMs)
      return [rule.used(cells, at, nowMs)]
    }
    // Invariant: the operations on holds do not come here.
    default:
      return [endOf(states.view(0, nowMs), nowMs)]
  }
}

function hit(charges: readonly Charge[], states: States, nowMs: number): Figures {
  const allowed = judge(charges, states, nowMs)
  if (allowed || states.countsDenied) states.prepare(allowed, nowMs)
  return allowed ? spendAll(charges, states, nowMs) : deny(charges, states, nowMs)
}

/** Settles every state. Returns true if all costs fit. */
function judge(charges: readonly Charge[], states: States, nowMs: number): boolean {
  let allowed = true
  for (let i = 0; i < charges.length; i++) {
    const { rule, cells, at } = states.load(i)
    rule.settle(cells, at, nowMs)
    if (rule.waitMs(cells, at, nowMs, charges[i].amount) > 0) allowed = false
  }
  return allowed
}

function spendAll(charges: readonly Charge[], states: States, nowMs: number): Figures {
  const figures = new Array<number>(charges.length * FIGURES)
  for (let i = 0; i < charges.length; i++) {
    const { rule, cells, at } = states.prepared(i)
    rule.spend(cells, at, nowMs, charges[i].amount)
    const used = rule.used(cells, at, nowMs)
    figures[i * FIGURES] = used
    figures[i * FIGURES + 1] = 0
    figures[i * FIGURES + 2] = cells[at] - nowMs
    states.save(i, used)
  }
  return figures
}

/** Spends only on rules that count denied hits. */
function deny(charges: readonly Charge[], states: States, nowMs: number): Figures {
  const figures: number[] = []
  for (let i = 0; i < charges.length; i++) {
    const { rule, cells, at } = states.load(i)
    const { amount } = charges[i]
    if (rule.countsDenied) rule.spend(cells, at, nowMs, amount)
    const used = rule.used(cells, at, nowMs)
    // A denied hit that counts may have made the wait longer.
    figures.push(used, rule.waitMs(cells, at, nowMs, amount), cells[at] === 0 ? 0 : cells[at] - nowMs)
    states.save(i, used)
  }
  return figures
}

function peek(charges: readonly Charge[], states: States, nowMs: number): Figures {
  const figures: number[] = []
  for (let i = 0; i < charges.length; i++) {
    const state = states.view(i, nowMs)
    const { rule, cells, at } = state
    const endsAt = endOf(state, nowMs)
    figures.push(rule.used(cells, at, nowMs), rule.waitMs(cells, at, nowMs, charges[i].amount), endsAt === 0 ? 0 : endsAt - nowMs)
  }
  return figures
}

function put(operation: 'inc' | 'set', amount: number, states: States, nowMs: number): number {
  if (!states.isKept(0)) {
    const state = states.load(0)
    write(operation, amount, state, nowMs)
    // With a count of 0, the state may still be that of a key that was never hit. Such a state is not stored.
    if (state.cells[state.at] === 0) return 0
  }
  states.prepare(true, nowMs)
  const state = states.load(0)
  state.rule.settle(state.cells, state.at, nowMs)
  write(operation, amount, state, nowMs)
  const used = state.rule.used(state.cells, state.at, nowMs)
  states.save(0, used)
  return used
}

function write(operation: 'inc' | 'set', amount: number, { rule, cells, at }: State, nowMs: number): void {
  if (operation === 'inc') rule.spend(cells, at, nowMs, amount)
  else rule.put(cells, at, nowMs, amount)
}

function refund(charges: readonly Charge[], states: States, nowMs: number): number {
  let usedOnFirst = 0
  for (let i = 0; i < charges.length; i++) {
    const { rule, cells, at } = states.load(i)
    rule.settle(cells, at, nowMs)
    rule.refund(cells, at, nowMs, charges[i].amount, charges[i].endsAt)
    const used = rule.used(cells, at, nowMs)
    states.save(i, used)
    if (i === 0) usedOnFirst = used
  }
  return usedOnFirst
}

function endOf({ rule, cells, at }: State, nowMs: number): number {
  return rule.log === undefined ? cells[at] : rule.log.endsAt(cells, at, nowMs)
}

/** Makes the figures of a decision that counts nothing. They are the same for each charge. */
export function uncounted(charges: number, used: number, waitMs: number): Figures {
  return Array.from({ length: charges * FIGURES }, (_, i) => (i % FIGURES === 0 ? used : waitMs))
}
