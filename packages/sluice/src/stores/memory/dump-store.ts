// Takes all states of a memory store along to another process.

import { LogBlocks } from '../../algorithms/sliding-log/log-blocks.ts'
import { SluiceError, show } from '../../core/errors.ts'
import { type DumpedState, mostPressing, readDump, writeDump } from './dump.ts'
import { LOG_ROW_WIDTH, MemoryState, type MemoryStore, type MemoryStoreOptions, memoryStore } from './memory-store.ts'
import { HEAVY } from './rows.ts'
import type { Table } from './table.ts'

/** All counts that have not ended, for `restoreStore`. They hold the secret that keys are hashed with: keep them as you would a password. */
export function dumpStore(store: MemoryStore): Uint8Array {
  if (!(store instanceof MemoryState)) {
    throw new SluiceError('ERR_OPTION', `dumpStore takes what memoryStore() makes, got ${show(store)}`, {
      option: 'store',
      value: store,
    })
  }
  store.seedKeys()
  return writeDump(store.keyHash.seed, store.tables, store.logs, store.clock.now())
}

/**
 * A memory store that starts with the counts of a dump that have not ended; where there are too many, with those that have used
 * most. Throws ERR_DUMP if the dump is not whole.
 */
export function restoreStore(dump: Uint8Array, options: MemoryStoreOptions = {}): MemoryStore {
  const { seed, states } = readDump(dump)
  const store = memoryStore(options) as MemoryState
  store.keyHash.setSeed(seed)
  const nowMs = store.clock.now()
  const kept = { [Symbol.iterator]: () => mostPressing(states, store.maxKeys, nowMs) }
  // A table is in the order of its fingerprints, so growing it on the way would pile them up at its beginning.
  const counts = new Map<Table, number>()
  for (const state of kept) {
    const table = tableOf(store, state)
    counts.set(table, (counts.get(table) ?? 0) + 1)
  }
  for (const [table, count] of counts) table.reserve(count)
  // Heavy states first: where bytes are short, light logs are left out.
  for (const state of kept) if (state.pressure >= HEAVY) adopt(store, state, nowMs)
  for (const state of kept) if (state.pressure < HEAVY) adopt(store, state, nowMs)
  return store
}

function adopt(store: MemoryState, state: DumpedState, nowMs: number): void {
  const { lo, hi, cells, isLog } = state
  if (isLog && !store.budget.hasLogBytes(cells.byteLength)) return
  const table = tableOf(store, state)
  store.makeRoom(table, 1, nowMs)
  table.prepare(1, nowMs)
  const row = table.claim(lo, hi, store.countClaims(1))
  const rows = table.rowsFor(hi)
  rows.cells.set(isLog ? [cells[0], logsOf(store).adopt(cells, state)] : cells, rows.at(row))
  rows.pressure[row] = state.pressure
}

function tableOf(store: MemoryState, { isLog, cells }: DumpedState): Table {
  if (!isLog) return store.table(cells.length, false)
  logsOf(store)
  return store.table(LOG_ROW_WIDTH, true)
}

function logsOf(store: MemoryState) {
  return store.openLogs((budget, onMove) => new LogBlocks(budget, onMove))
}
