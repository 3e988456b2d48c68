// sluice/testing: what the author of a store, or of a program that limits, needs for its tests.

export { definitionStore } from './definition-store.ts'
export { type FakeClock, fakeClock } from './fake-clock.ts'
export { type KnownAnswer, type KnownDecision, type KnownRule, type KnownStep, knownRule, replay } from './known-answers.ts'
export { KNOWN_ANSWERS } from './known-answers-data.ts'
export { everyRule, type StoreSuiteOptions, storeSuite } from './store-suite.ts'
export type { MakeStore, TestRunner } from './suite-tools.ts'
