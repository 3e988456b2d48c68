// The logs of a memory store. A log is a block of the arena, and its row in the store's table holds its end and its handle.
// Invariant: while a log moves or logs are evicted, the rows of the present call are pinned.

import { hasLogBytes } from '../../core/log-budget.ts'
import {
  type ChooseLogs,
  LIGHT,
  LOG_HANDLE,
  type LogHost,
  type LogState,
  type LogStates,
  type LogVictim,
  type RowLogs,
  type RowStates,
} from '../../core/rule-log.ts'
import { LogBlocks } from './log-blocks.ts'
import { isLog, LogsOfCall, type RowOfLog } from './logs-of-call.ts'

/** Number of searches for the bytes of a new log. */
const SEARCHES_A_LOG = 8

/** Number of new logs for which a search evicts others, so that the next new logs need no search. */
const LOGS_A_SEARCH = 16

export class LogRows implements RowLogs {
  readonly arena: LogBlocks
  readonly #host: LogHost

  constructor(host: LogHost) {
    this.#host = host
    this.arena = new LogBlocks(host.budget, ({ lo, hi }, handle) => {
      const rows = host.logTable.rowsFor(hi)
      rows.cells[rows.at(rows.find(lo, hi)) + LOG_HANDLE] = handle
    })
  }

  statesOf(rows: RowStates): LogStates {
    return new LogsOfCall(rows, this)
  }

  /** Makes space for the bytes of new logs, by evicting others. */
  makeSpace(states: readonly LogState[], logs: number, nowMs: number): void {
    const log = states.find(isLog)
    if (log === undefined) return
    const bytes = logs * this.arena.smallestBytes(log.rule)
    for (let left = SEARCHES_A_LOG; left > 0 && !hasLogBytes(this.#host.budget, bytes); left--) {
      this.#evict(nowMs, LOGS_A_SEARCH * bytes)
    }
  }

  /** Makes an empty log for a row, unless it has one. */
  allocate(state: RowOfLog): void {
    if (handleOf(state) === 0) keepHandle(state, this.arena.allocate(state.rule, state))
  }

  /** Makes space for one more entry, or frees space that the log needs no more. To evict other logs, it pins the rows of the call. */
  fit(state: RowOfLog, nowMs: number, rows: RowStates): void {
    const lacking = this.arena.lackingToFit(state.rule, handleOf(state))
    // A log that has grown is not evicted for another one to grow. Otherwise growing logs would evict each other all the time.
    if (lacking > 0) rows.pinned(() => this.#evict(nowMs, lacking, this.arena.smallestBytes(state.rule)))
    keepHandle(state, this.arena.fit(state.rule, handleOf(state), state))
  }

  /**
   * Evicts the weakest logs until `bytes` are free. With `mostLight`, evicts only logs of at most so many bytes that have used almost
   * nothing, and none if they are too few to free `bytes`.
   */
  #evict(nowMs: number, bytes: number, mostLight?: number): void {
    const choose: ChooseLogs = (weak, all) => {
      let free = 0
      const chosen = (mostLight === undefined ? weak : all).filter((victim) => {
        const logBytes = this.arena.bytesOf(handleOf(victim))
        const goes = free < bytes && (mostLight === undefined || (victim.pressure < LIGHT && logBytes <= mostLight))
        if (goes) free += logBytes
        return goes
      })
      return mostLight !== undefined && free < bytes ? [] : chosen
    }
    this.#host.evictLogs(nowMs, choose, mostLight !== undefined)
  }

  /** Points `cells` and `at` at the log. */
  locate(state: LogState): void {
    const handle = handleOf(state)
    state.cells = this.arena.cells(handle)
    state.at = this.arena.at(handle)
  }
}

function handleOf({ rows, row }: Pick<LogVictim, 'rows' | 'row'>): number {
  return rows.cells[rows.at(row) + LOG_HANDLE]
}

function keepHandle({ rows, row }: LogState, handle: number): void {
  rows.cells[rows.at(row) + LOG_HANDLE] = handle
}
