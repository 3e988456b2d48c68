// The door `sluice-server/client`: asks a running service. Needs nothing but Node.

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
  Top,
  Usage,
} from './answers.ts'
export type { CheckRequest } from './check-json.ts'
export { type Client, type Counter, createClient, type ExpectedPolicy } from './client.ts'
export { CLIENT_ERROR_CODES, ClientError, type ClientErrorCode } from './client-error.ts'
export type { ClientOptions } from './client-options.ts'
