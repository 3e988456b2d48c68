// Names that both doors have.

export type {
  AuditPage,
  CheckDecision,
  Counted,
  Counts,
  Health,
  KeyFacts,
  ListedPolicy,
  NewKey,
  PolicyPage,
  PolicySpec,
  RecordNames,
  RecordsStatus,
  Restored,
  Rule,
  RuleUsage,
  Scope,
  ShadowReport,
  Stats,
  StoreFallback,
  Top,
  Units,
  UnitsByRule,
  Usage,
} from './answers.ts'
export type { Attributes, CheckRequest, Counter } from './check-json.ts'
export type { AuditQuery, Client, ExpectedPolicy } from './client.ts'
export { CLIENT_ERROR_CODES, ClientError, type ClientErrorCode, type ErrorCode, type Problem } from './client-error.ts'
export type { ClientHold, OpenedHold, ReserveRequest, RunResult } from './client-hold.ts'
export type { FailureOptions, Fallback, StandIn, StandInDecision } from './client-options.ts'
