// The shapes of the service's answers that the pages read. They come from the contract of the service.

import type { Fleet, OpenHolds, Policy, SessionKey, Stats } from 'sluice-client/contract'

export type {
  Activity,
  AuditEntry,
  AuditPage,
  CheckEvent,
  Fleet,
  Histogram,
  History,
  Key,
  KeyWithSecret,
  Policy,
  PolicyPage,
  RuleUsage,
  Session as SessionAnswer,
  SessionKey,
  ShadowReport,
  SimulatedClient,
  Simulation,
  Stats,
  Status,
  Top,
  Usage,
} from 'sluice-client/contract'

export type Scope = SessionKey['scopes'][number]

export const OUTCOMES = ['allowed', 'denied', 'shadow_denied', 'errors'] as const satisfies readonly (keyof Stats)[]
export type Outcome = (typeof OUTCOMES)[number]

export type Counts = Readonly<Record<Outcome, number>>

/** All checks together. */
export function checksOf({ allowed, denied, shadow_denied, errors }: Counts): number {
  return allowed + denied + shadow_denied + errors
}

/** The counts of one policy over some time. */
export type PolicyCounts = Stats['policies'][number]

/** An instance of the fleet. */
export type Instance = Fleet['instances'][number]

export type PolicyMode = Policy['mode']

/** The value of an option of a rule. */
export type OptionValue = string | number | boolean

/** A rule of a policy: in notation, or its algorithm with its options. The catalogue of rules knows which options there are. */
export type PolicyRule = string | Readonly<Record<string, OptionValue | readonly string[] | undefined>>

/** A policy without the fields that the service adds. */
export type PolicySpec = Omit<Policy, 'rules' | 'source' | 'expired' | 'etag'> & {
  readonly rules?: readonly PolicyRule[] | undefined
}

/** An open hold that the answering instance knows. */
export type OpenHold = OpenHolds['holds'][number]
