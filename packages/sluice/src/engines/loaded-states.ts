// States that were read from a store, as cells that the definitions run on.

import type { Charge } from '../core/call.ts'
import type { Rule } from '../core/rule.ts'
import type { State, States } from '../core/step.ts'

/** One state, read and perhaps changed. */
interface Loaded extends State {
  cells: Float64Array
  wasKept: boolean
}

/** The cells to keep for a state, from the first on; undefined if there is none. */
export type Cells = Float64Array | undefined

export interface LoadedStatesOptions {
  readonly rules: readonly Rule[]
  readonly charges: readonly Charge[]
  /** Reads the cells of a charge's state. */
  read(charge: Charge): Cells
  /** Keeps the cells of a charge's state, which are the store's own from now on; drops the state if there are none. */
  write(charge: Charge, cells: Cells): void
}

export class LoadedStates implements States {
  readonly #options: LoadedStatesOptions
  readonly #loaded: (Loaded | undefined)[] = []

  constructor(options: LoadedStatesOptions) {
    this.#options = options
  }

  get countsDenied(): boolean {
    return this.#options.rules.some(({ countsDenied }) => countsDenied)
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
    return this.#load(i).wasKept
  }

  prepare(): void {
    // A trial on a state that was not kept leaves its changes behind.
    this.#options.charges.forEach((_, i) => {
      if (this.#loaded[i]?.wasKept === false) this.#loaded[i] = undefined
    })
  }

  prepared(i: number): State {
    return this.#load(i)
  }

  save(i: number): void {
    const { cells } = this.#load(i)
    this.#options.write(this.#options.charges[i], cells[0] === 0 ? undefined : cells)
  }

  drop(i: number): void {
    this.#options.write(this.#options.charges[i], undefined)
  }

  /** A copy, with space for one more entry where it is a log. */
  #load(i: number): Loaded {
    const known = this.#loaded[i]
    if (known !== undefined) return known
    const charge = this.#options.charges[i]
    const rule = this.#options.rules[charge.rule]
    const kept = this.#options.read(charge)
    const loaded = { rule, cells: copyOf(rule, kept ?? new Float64Array(rule.width)), at: 0, wasKept: kept !== undefined }
    this.#loaded[i] = loaded
    return loaded
  }
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
