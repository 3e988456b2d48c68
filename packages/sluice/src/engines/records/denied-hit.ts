// Runs the charges of a denied hit or reserve that are on one record. The charges that denied it may be on other records. One more
// charge represents them here: it denies every call, so `step` charges only rules that count denied hits.

import { type Call, FIGURES } from '../../core/call.ts'
import { type Holds, LoadedHolds } from '../../core/holds.ts'
import type { Rule } from '../../core/rule.ts'
import type { State } from '../../core/step.ts'
import { type Cells, decide, LoadedStates, type NamedCall, type Outcome } from '../loaded-states.ts'
import { partOfReserve } from '../reserve-in-parts.ts'

/** The rule of the additional charge. */
const DENIER: Rule = {
  algorithm: 'denier',
  name: 'denier',
  per: undefined,
  limit: 0,
  windowMs: 1,
  countsDenied: false,
  width: 1,
  mostUsed: 0,
  parameters: {},
  settle() {},
  take: () => 1,
  waitMs: () => 1,
  spend() {},
  used: () => 0,
  put() {},
  refund() {},
}

class DeniedStates extends LoadedStates {
  readonly #last: number

  constructor(named: NamedCall, read: (name: string) => Cells) {
    super(named, read)
    this.#last = named.call.charges.length
  }

  override load(i: number): State {
    return i === this.#last ? { rule: DENIER, cells: new Float64Array(1), at: 0 } : super.load(i)
  }

  override holds(i: number): Holds {
    return i === this.#last ? new LoadedHolds() : super.holds(i)
  }

  override save(i: number, used: number): void {
    if (i !== this.#last) super.save(i, used)
  }
}

/** Runs a hit or reserve that is already denied: only rules that count denied hits are charged. */
export function runDenied(named: NamedCall, read: (name: string) => Cells, nowMs: number): Outcome {
  const states = new DeniedStates(named, read)
  const { operation, charges } = named.call
  const call: Call = { ...named.call, charges: [...charges, { rule: -1, key: '', amount: 1 }] }
  const figures = decide(call, states, nowMs)
  const own =
    operation === 'reserve'
      ? partOfReserve({ indexes: [...charges.keys()] }, figures)
      : figures.slice(0, charges.length * FIGURES)
  return { figures: own, changes: states.changes }
}
