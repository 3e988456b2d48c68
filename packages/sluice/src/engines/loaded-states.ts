// Runs a call on states that were read from a store. The definitions change copies of the cells. Returns the changed states.
// Invariant: nothing is written before the step is done. A call that fails changes nothing.

import type { Call, Figures } from '../core/call.ts'
import type { Rule } from '../core/rule.ts'
import { type State, type States, step } from '../core/step.ts'
import { checkCells } from './state-codec.ts'

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
  const figures = step(named.call, states, nowMs)
  return { figures, changes: states.changes }
}

interface Loaded extends State {
  /** The cells as the store keeps them. */
  readonly kept: Cells
}

export class LoadedStates implements States {
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

  load(i: number): State {
    return this.#load(i)
  }

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
      if (loaded !== undefined && loaded.kept === undefined) this.#loaded[i] = loadedFrom(loaded.rule, undefined)
    }
  }

  prepared(i: number): State {
    return this.#load(i)
  }

  save(i: number, used: number): void {
    const { rule, cells, kept } = this.#load(i)
    const name = this.#named.names[i]
    if (cells[0] === 0) {
      if (kept !== undefined) this.changes.push({ name, cells: undefined, kept, isNew: false, share: 0 })
    } else if (kept === undefined || !sameCells(cells, copyOf(rule, kept))) {
      this.changes.push({ name, cells, kept, isNew: kept === undefined, share: Math.min(1, used / rule.limit) })
    }
  }

  drop(i: number): void {
    this.changes.push({ name: this.#named.names[i], cells: undefined, kept: undefined, isNew: false, share: 0 })
  }

  /** Copies a state. The copy of a log has space for one more entry. */
  #load(i: number): Loaded {
    const known = this.#loaded[i]
    if (known !== undefined) return known
    const { call, rules, names } = this.#named
    const rule = rules[call.charges[i].rule]
    const kept = this.#read(names[i])
    if (kept !== undefined) checkCells(rule, kept, names[i])
    const loaded = loadedFrom(rule, kept)
    this.#loaded[i] = loaded
    return loaded
  }
}

function loadedFrom(rule: Rule, kept: Cells): Loaded {
  return { rule, cells: copyOf(rule, kept ?? new Float64Array(rule.width)), at: 0, kept }
}

function copyOf({ width, log }: Rule, kept: Float64Array): Float64Array {
  if (log === undefined) {
    const cells = new Float64Array(width)
    cells.set(kept)
    return cells
  }
  const cells = new Float64Array(log.widthToSpend(kept, 0))
  log.move(kept, 0, cells, 0, cells.length)
  return cells
}

/** True if both hold the same numbers. */
export function sameCells(a: Float64Array, b: Float64Array): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}
