// Dumps the states of a memory store, and restores them in another process.

import { LogRows } from '../../algorithms/sliding-log/log-rows.ts'
import { SluiceError, show } from '../../core/errors.ts'
import { hasLogBytes } from '../../core/log-budget.ts'
import { type DumpedState, mostPressing, readDump, writeDump } from './dump.ts'
import { prepareHolds } from './held-rows.ts'
import { MemoryState, type MemoryStore, type MemoryStoreOptions, memoryStore } from './memory-store.ts'
import { HEAVY } from './rows.ts'
import type { Table } from './table.ts'

/**
 * Returns all states that have not ended, for `restoreStore`. The dump contains the secret of the keys' hash: keep it like a
 * password.
 */
export function dumpStore(store: MemoryStore): Uint8Array {
  if (!(store instanceof MemoryState)) {
    throw new SluiceError('ERR_OPTION', `dumpStore takes a memory store, such as memoryStore() makes, got ${show(store)}`, {
      option: 'store',
      value: store,
    })
  }
  store.seedKeys()
  return writeDump(store.keyHash.seed as Int32Array, store, store.clock.now())
}

/**
 * Makes a memory store with the states of a dump that have not ended. If there are too many, it keeps those that have used the
 * largest share of their limit. Throws ERR_DUMP if the dump is damaged.
 */
export function restoreStore(dump: Uint8Array, options: MemoryStoreOptions = {}): MemoryStore {
  const { seed, states } = readDump(dump)
  const store = memoryStore(options) as MemoryState
  store.keyHash.setSeed(seed)
  const nowMs = store.clock.now()
  let kept: Iterable<DumpedState> = { [Symbol.iterator]: () => mostPressing(states, store.maxKeys, nowMs) }
  // States come in the order of fingerprints. In a table that grows meanwhile, or evicts, they would all be near one place. So tables
  // get their size first, and no more states than fit.
  const counts = new Map<Table, number>()
  for (const state of kept) {
    const table = tableOf(store, state)
    counts.set(table, (counts.get(table) ?? 0) + 1)
  }
  for (const [table, count] of counts) {
    const fitting = table.reserve(count)
    if (count <= fitting) continue
    const all = kept
    const isInTable = (state: DumpedState): boolean => tableOf(store, state) === table
    kept = { [Symbol.iterator]: () => withFewer(all, isInTable, fitting, nowMs) }
  }
  // Heavy states come first. If there are too few bytes, light logs are left out.
  for (const state of kept) if (state.pressure >= HEAVY) adopt(store, state, nowMs)
  for (const state of kept) if (state.pressure < HEAVY) adopt(store, state, nowMs)
  if (store.size > 0) store.keepSwept(nowMs)
  return store
}

/** Yields the states that are not in the table, and then at most `most` of those that are. */
function* withFewer(
  states: Iterable<DumpedState>,
  isInTable: (state: DumpedState) => boolean,
  most: number,
  nowMs: number,
): Generator<DumpedState> {
  for (const state of states) if (!isInTable(state)) yield state
  yield* mostPressing({ [Symbol.iterator]: () => inTable(states, isInTable) }, most, nowMs)
}

function* inTable(states: Iterable<DumpedState>, isInTable: (state: DumpedState) => boolean): Generator<DumpedState> {
  for (const state of states) if (isInTable(state)) yield state
}

function adopt(store: MemoryState, state: DumpedState, nowMs: number): void {
  const { lo, hi, cells, isLog, holds, endsAt } = state
  if (isLog && !hasLogBytes(store.budget, cells.byteLength)) return
  const table = tableOf(store, state)
  store.makeSpace(table, 1, nowMs)
  table.prepare(1, nowMs)
  const row = store.claim(table, lo, hi)
  const rows = table.rowsFor(hi)
  rows.cells.set(isLog ? [cells[0], logsOf(store).adopt(cells, state)] : cells, rows.at(row))
  rows.pressure[row] = state.pressure
  if (holds !== undefined) prepareHolds(store).holds?.adopt(holds, rows, row, endsAt)
}

function tableOf(store: MemoryState, { isLog, cells }: DumpedState): Table {
  if (!isLog) return store.table(cells.length)
  logsOf(store)
  return store.logTable
}

function logsOf(store: MemoryState) {
  return store.openLogs((host) => new LogRows(host)).arena
}
