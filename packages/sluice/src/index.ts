// The door `sluice`: everything that most applications need.

export { type CalendarWindowOptions, calendarWindow } from './algorithms/calendar-window/calendar-window.ts'
export type { CalendarPeriod, StartsOn } from './algorithms/calendar-window/period-start.ts'
export { type ConcurrencyOptions, concurrency } from './algorithms/concurrency/concurrency.ts'
export { type FixedWindowOptions, fixedWindow } from './algorithms/fixed-window/fixed-window.ts'
export { type GcraOptions, gcra } from './algorithms/gcra/gcra.ts'
export { type LeakyBucketOptions, leakyBucket } from './algorithms/leaky-bucket/leaky-bucket.ts'
export { type NotationOptions, parseRule } from './algorithms/parse-rule.ts'
export { type SlidingLogOptions, slidingLog } from './algorithms/sliding-log/sliding-log.ts'
export { type SlidingWindowOptions, slidingWindow } from './algorithms/sliding-window/sliding-window.ts'
export { type TokenBucketOptions, tokenBucket } from './algorithms/token-bucket/token-bucket.ts'
export type { Call, Charge, Figures, Operation } from './core/call.ts'
export type { Clock, TimerClock } from './core/clock.ts'
export { type Decision, type DecisionSource, decide, type RuleStatus } from './core/decision.ts'
export { type Duration, durationMs } from './core/duration.ts'
export { ERROR_CODES, type ErrorCode, type ErrorDetails, SluiceError } from './core/errors.ts'
export type { DecisionFailure, FailureCounts, FailureEvent, FailureOptions, FailureReason, Fallback } from './core/guard.ts'
export type { HitOptions, Limiter, LimiterOptions, RefundOptions, RuleChoice, WaitOptions } from './core/limiter.ts'
export type {
  HeldUnits,
  Hold,
  HoldsOption,
  PatientReserveOptions,
  ReserveOptions,
  RunResult,
  WaitingReserveOptions,
} from './core/reserving.ts'
export type { Per, PerOption, Rule, RuleOptions } from './core/rule.ts'
export type { RuleLog } from './core/rule-log.ts'
export type { Asker, PartOutcomes, Result, Store, Tally, Timing, ToldAsker } from './core/store.ts'
export type { Cost, Subject, SubjectOf } from './core/subject.ts'
export { createLimiter } from './create-limiter.ts'
export { type HoldsOptions, holds } from './holds/holds.ts'
export { dumpStore, restoreStore } from './stores/memory/dump-store.ts'
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from './stores/memory/memory-store.ts'
export { type WaitingLineOptions, waitingLine } from './waiting/waiting-line.ts'
