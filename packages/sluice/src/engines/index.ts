// The door `sluice/engines`: everything that the author of a store needs.

export { type CompareAndSwapOptions, compareAndSwapStore } from './compare-and-swap.ts'
export { type InPlaceOptions, inPlaceStore } from './in-place.ts'
export type { Cells, WriteFacts } from './loaded-states.ts'
export type { Versioned } from './records/versioned-records.ts'
export { MOVED, type ScriptedAnswer, type ScriptedCall, type ScriptedOptions, scriptedStore } from './scripted.ts'
export { decodeCells, encodeCells } from './state-codec.ts'
export { nameOfKey, nameOfState } from './state-names.ts'
export { type SortError, type StoreErrorKind, sortByCode } from './store-errors.ts'
export type { Sweep } from './sweeper.ts'
export { systemClock } from './system-clock.ts'
export { type Decide, type TransactionOptions, transactionStore } from './transaction.ts'
export type { Change } from './working-states.ts'
