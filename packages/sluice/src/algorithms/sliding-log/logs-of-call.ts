// The states of a call in a memory store, of which some are logs. States of rules without a log are those of the rows.
// Invariant: the row of a log holds the end of the log, and a handle that is not 0, except while its call is prepared.

import type { LogRule, LogState, LogStates, RowStates } from '../../core/rule-log.ts'
import type { State } from '../../core/step.ts'
import type { LogRows } from './log-rows.ts'

/** Cells for entries in the scratch log. Few are enough, because a call on a key without a row spends once. */
const SCRATCH_CELLS = 8

/** The state of a charge on a rule that keeps logs. */
export type RowOfLog = LogState & { readonly rule: LogRule }

export class LogsOfCall implements LogStates {
  readonly countsDenied: boolean
  readonly #rows: RowStates
  readonly #logs: LogRows
  #scratch = new Float64Array(0)

  constructor(rows: RowStates, logs: LogRows) {
    this.countsDenied = rows.countsDenied
    this.#rows = rows
    this.#logs = logs
  }

  load(i: number): State {
    const state = this.#rows.asked[i]
    if (!isLog(state)) return this.#rows.load(i)
    if (state.row < 0) this.#lookAtBlank(state)
    else this.#logs.locate(state)
    return state
  }

  /** Returns a log itself, not a copy: it can be read without settling. */
  view(i: number, nowMs: number): State {
    return isLog(this.#rows.asked[i]) ? this.load(i) : this.#rows.view(i, nowMs)
  }

  isKept(i: number): boolean {
    return this.#rows.isKept(i)
  }

  /** Claims missing rows, and space for one more entry in each log. */
  prepare(all: boolean, nowMs: number): void {
    const { asked } = this.#rows
    let newLogs = 0
    for (const state of asked) if (isLog(state) && state.row < 0) newLogs += 1
    // A rule that keeps logs does not count denied hits.
    if (all && newLogs > 0) this.#rows.pinned(() => this.#logs.makeSpace(asked, newLogs, nowMs))
    this.#rows.prepare(all, nowMs)
    if (all && newLogs > 0) for (const state of asked) if (isLog(state)) this.#logs.allocate(state)
    for (let i = 0; i < asked.length; i++) if (isLog(asked[i]) && this.isKept(i)) this.fit(i, nowMs)
    for (let i = 0; i < asked.length; i++) if (this.isKept(i)) this.load(i)
  }

  prepared(i: number): State {
    return this.#rows.asked[i]
  }

  fit(i: number, nowMs: number): void {
    this.#logs.fit(this.#rows.asked[i] as RowOfLog, nowMs, this.#rows)
  }

  save(i: number, used: number): void {
    const state = this.#rows.asked[i]
    const { rows, row, cells, at } = state
    if (isLog(state) && row >= 0) rows.cells[rows.at(row)] = cells[at]
    this.#rows.save(i, used)
  }

  drop(i: number): void {
    this.#rows.drop(i)
  }

  /** Points `cells` at an empty log in scratch memory. Changes of it are not kept. */
  #lookAtBlank(state: RowOfLog): void {
    const { width, log } = state.rule
    const length = width + SCRATCH_CELLS
    if (this.#scratch.length < length) this.#scratch = new Float64Array(length)
    const scratch = this.#scratch.fill(0)
    log.frame(scratch, 0, scratch, 0, length)
    state.cells = scratch
    state.at = 0
  }
}

export function isLog(state: LogState): state is RowOfLog {
  return state.rule.log !== undefined
}
