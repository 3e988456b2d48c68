// Copies of states and their holds, for calls that only read.

import type { HeldStates } from './held-step.ts'
import { LoadedHolds } from './holds.ts'
import type { State } from './step.ts'

interface Copy extends State {
  readonly holds: LoadedHolds
}

export class CopiedStates implements HeldStates {
  readonly countsDenied = false
  readonly #copies: Copy[]

  /** Copies the states of the first `count` charges. */
  constructor(states: HeldStates, count: number) {
    this.#copies = Array.from({ length: count }, (_, i) => {
      const copy = { ...copyOf(states.load(i)), holds: LoadedHolds.of(states.holds(i)) }
      states.leave(i)
      return copy
    })
  }

  load(i: number): State {
    return this.#copies[i]
  }

  view(i: number): State {
    return this.#copies[i]
  }

  holds(i: number): LoadedHolds {
    return this.#copies[i].holds
  }

  scratch(i: number): State {
    return copyOf(this.#copies[i])
  }

  makeRoom(i: number, _nowMs: number, spends: number): void {
    this.#copies[i] = { ...this.#copies[i], ...withRoom(this.#copies[i], spends) }
  }

  prepared(i: number): State {
    return this.#copies[i]
  }

  isKept(): boolean {
    return true
  }

  prepare(): void {}
  save(): void {}
  leave(): void {}
  drop(): void {}
}

/** Copies a state. The copy of a log has space for `spends` more entries. */
export function copyOf({ rule, cells, at }: State, spends = 1): State {
  const { width, log } = rule
  if (log === undefined) return { rule, cells: cells.slice(at, at + width), at: 0 }
  const copy = new Float64Array(log.widthToSpend(cells, at, spends))
  log.move(cells, at, copy, 0, copy.length)
  return { rule, cells: copy, at: 0 }
}

/**
 * Returns a state of a copied log with space for `spends` more entries. Before the last of several spends it is copied once more, so that it
 * takes no more cells than it needs.
 */
export function withRoom(state: State, spends: number): State {
  const { cells, at } = state
  const { log } = state.rule
  const isWide = log !== undefined && spends > 1 && cells.length >= log.widthToSpend(cells, at, spends)
  return log === undefined || isWide ? state : copyOf(state, spends)
}
