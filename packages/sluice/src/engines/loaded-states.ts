// Runs a call on states that were read from a store. The definitions change copies of the cells. Returns the changed states.
// Invariant: nothing is written before the step is done. A call that fails changes nothing.

import type { Call, Figures } from '../core/call.ts'
import { copyOf, withRoom } from '../core/copied-states.ts'
import { type HeldStates, heldStep } from '../core/held-step.ts'
import { type Holds, hasHolds, joinHolds, LoadedHolds, splitHolds } from '../core/holds.ts'
import type { Rule } from '../core/rule.ts'
import { type State, step } from '../core/step.ts'
import { checkCells, damaged } from './state-codec.ts'

/** The cells of a state, from index 0 on; undefined if the store keeps no such state. */
export type Cells = Float64Array | undefined

/** A call with its rules and the name of each charge's state. */
export interface NamedCall {
  readonly call: Call
  readonly rules: readonly Rule[]
  /** Name of each charge's state, in the order of the charges. */
  readonly names: readonly string[]
}

/** A changed state. Without cells, the state is dropped. */
export interface StateChange {
  readonly name: string
  readonly cells: Cells
}

/** Facts about the write of a state. A store that bounds its size needs them. */
export interface WriteFacts {
  /** True if the store keeps no such state yet. False without cells. */
  readonly isNew: boolean
  /** The share of its limit that the state has used, from 0 to 1. It is 0 without cells. */
  readonly share: number
}

/** A change with all that is known about it. */
export interface LoadedChange extends StateChange, WriteFacts {
  /** The cells before the change, as they were read; undefined if there were none, or if a reset did not read them. */
  readonly kept: Cells
}

export interface Outcome {
  readonly figures: Figures
  /** States that differ from the ones that were read. */
  readonly changes: readonly StateChange[]
}

/** Decides a call over the states that `read` returns. They are copied before they are changed. */
export function runCall(named: NamedCall, read: (name: string) => Cells, nowMs: number): Outcome {
  const states = new LoadedStates(named, read)
  return { figures: decide(named.call, states, nowMs), changes: states.changes }
}

/** Decides a call on loaded states, with or without holds. */
export function decide(call: Call, states: LoadedStates, nowMs: number): Figures {
  return call.hold !== undefined || states.haveHolds() ? heldStep(call, states, nowMs) : step(call, states, nowMs)
}

interface Loaded extends State {
  /** The cells as the store keeps them. */
  readonly kept: Cells
  readonly holds: LoadedHolds
}

export class LoadedStates implements HeldStates {
  readonly changes: LoadedChange[] = []
  readonly #named: NamedCall
  readonly #read: (name: string) => Cells
  readonly #loaded: (Loaded | undefined)[] = []

  constructor(named: NamedCall, read: (name: string) => Cells) {
    this.#named = named
    this.#read = read
  }

  get countsDenied(): boolean {
    return this.#named.rules.some(({ countsDenied }) => countsDenied)
  }

  /** Reads all states. Without it, each is read when the step needs it. */
  loadAll(): void {
    for (let i = 0; i < this.#named.names.length; i++) this.#load(i)
  }

  /** True if one of the states has holds. A reset drops states, and does not read them. */
  haveHolds(): boolean {
    const { operation, charges } = this.#named.call
    return operation !== 'reset' && charges.some((_, i) => this.#load(i).holds.length > 0)
  }

  load(i: number): State {
    return this.#load(i)
  }

  holds(i: number): Holds {
    return this.#load(i).holds
  }

  scratch(i: number): State {
    return copyOf(this.#load(i))
  }

  makeRoom(i: number, _nowMs: number, spends: number): void {
    const loaded = this.#load(i)
    if (loaded.rule.log !== undefined) this.#loaded[i] = { ...loaded, cells: withRoom(loaded, spends).cells }
  }

  leave(): void {}

  view(i: number, nowMs: number): State {
    const state = this.#load(i)
    state.rule.settle(state.cells, state.at, nowMs)
    return state
  }

  isKept(i: number): boolean {
    return this.#load(i).kept !== undefined
  }

  prepare(): void {
    // An earlier `load` may have left changes on a copy of a state that the store does not keep.
    for (const [i, loaded] of this.#loaded.entries()) {
      if (loaded !== undefined && loaded.kept === undefined) this.#loaded[i] = loadedFrom(loaded.rule, undefined, '')
    }
  }

  prepared(i: number): State {
    return this.#load(i)
  }

  save(i: number, used: number): void {
    const { rule, cells, kept, holds } = this.#load(i)
    const name = this.#named.names[i]
    if (cells[0] === 0 && holds.length === 0) {
      if (kept !== undefined) this.changes.push({ name, cells: undefined, kept, isNew: false, share: 0 })
      return
    }
    // The state of a key that has nothing but holds is that of a key that was never hit.
    const changed = joinHolds(cells[0] === 0 ? new Float64Array(rule.width) : cells, holds, rule)
    const before = kept === undefined || hasHolds(kept) ? kept : copyOf({ rule, cells: kept, at: 0 }).cells
    if (before !== undefined && sameCells(changed, before)) return
    // A store that bounds its size evicts states with holds last.
    const share = holds.length > 0 ? 1 : Math.min(1, used / rule.limit)
    this.changes.push({ name, cells: changed, kept, isNew: kept === undefined, share })
  }

  drop(i: number): void {
    this.changes.push({ name: this.#named.names[i], cells: undefined, kept: undefined, isNew: false, share: 0 })
  }

  #load(i: number): Loaded {
    const known = this.#loaded[i]
    if (known !== undefined) return known
    const { call, rules, names } = this.#named
    const rule = rules[call.charges[i].rule]
    const kept = this.#read(names[i])
    const loaded = loadedFrom(rule, kept, names[i])
    this.#loaded[i] = loaded
    return loaded
  }
}

/** Copies what the store keeps. The copy of a log has space for one more entry. */
function loadedFrom(rule: Rule, kept: Cells, name: string): Loaded {
  const split = kept !== undefined && hasHolds(kept) ? splitHolds(kept) : { cells: kept, holds: new LoadedHolds() }
  if (split === undefined) throw damaged(name, 'its holds do not belong together')
  const { cells = new Float64Array(rule.width), holds } = split
  // A state that has nothing but holds is all zeros.
  const isOnlyHolds = holds.length > 0 && cells.length === rule.width && cells.every((cell) => cell === 0)
  if (kept !== undefined && !isOnlyHolds) checkCells(rule, cells, name)
  return { ...copyOf({ rule, cells, at: 0 }), kept, holds }
}

/** True if both hold the same numbers. */
export function sameCells(a: Float64Array, b: Float64Array): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}
