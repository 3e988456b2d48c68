// Entry point `sluice-server/client`: a client for a running service. It uses only Node's own modules.

export type {
  CheckDecision,
  Counted,
  Counts,
  Health,
  KeyFacts,
  ListedPolicy,
  NewKey,
  PolicyPage,
  RecordNames,
  RecordsStatus,
  Restored,
  RuleUsage,
  Stats,
  StoreFallback,
  Top,
  Units,
  UnitsByRule,
  Usage,
} from './answers.ts'
export type { CheckRequest } from './check-json.ts'
export { type Client, type Counter, createClient, type ExpectedPolicy } from './client.ts'
export { CLIENT_ERROR_CODES, ClientError, type ClientErrorCode } from './client-error.ts'
export type { ClientHold, OpenedHold, ReserveRequest, RunResult } from './client-hold.ts'
export type { ClientOptions } from './client-options.ts'
