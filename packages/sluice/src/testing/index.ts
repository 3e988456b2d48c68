// The door `sluice/testing`: tools for tests of stores, and for tests of applications that use limiters.

export { definitionStore } from './definition-store.ts'
export { everyRule, exampleRule } from './example-rules.ts'
export { type CallPlan, type FailingStore, type FailingStoreOptions, failingStore, type StoreCall } from './failing-store.ts'
export { type FakeClock, fakeClock } from './fake-clock.ts'
export { type KnownAnswer, type KnownDecision, type KnownStep, replay } from './known-answers.ts'
export { KNOWN_ANSWERS } from './known-answers-data.ts'
export { type StoreSuiteOptions, storeSuite } from './store-suite.ts'
export type { MakeStore, TestRunner } from './suite-tools.ts'
