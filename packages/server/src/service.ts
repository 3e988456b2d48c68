// What the API stands on: everything that a request may need, made once.

import type { Logger } from 'pino'
import type { AuditTrail } from './audit/audit-trail.ts'
import type { Decider } from './decide/decider.ts'
import type { KeyRing } from './keys/key-ring.ts'
import type { PolicyKeeper } from './policies/policy-keeper.ts'
import type { Stats } from './stats/stats.ts'

/** `starting`: policies and keys are not there yet. `draining`: what is under way is finished, nothing else is wanted. */
export type ServiceState = 'starting' | 'ready' | 'draining'

export interface ServiceStatus {
  state: ServiceState
}

/** What is told of the store. */
export interface StoreFacts {
  readonly kind: 'memory' | 'redis'
  /** How many states it holds, and how many gave way to others before they had ended; undefined where it is not the one who knows. */
  size(): number | undefined
  evictions(): number | undefined
  /** Who answers when it does not. */
  readonly failureMode: 'local' | 'allow' | 'deny' | 'throw'
}

/** Redis lacks changes of policies and keys that an instance has seen. */
export interface RecordsLoss {
  readonly sinceMs: number
  /** The last change that this instance knows, and the last that Redis has. */
  readonly known: number
  readonly found: number
  /** The instance that knows most, if it is another. */
  readonly knownBy: string | undefined
}

export interface RecordName {
  readonly kind: 'policy' | 'key'
  readonly id: string
}

/** Records of a restore, by what becomes of them. */
export interface RestoreReport {
  readonly written: readonly RecordName[]
  readonly revoked: readonly RecordName[]
  readonly removed: readonly RecordName[]
  readonly kept: readonly RecordName[]
  readonly isExact: boolean
}

/** The state of the records, policies and keys, and the way to put them back. */
export interface RecordsCare {
  loss(): RecordsLoss | undefined
  /** Records that are there and cannot be read. */
  unreadable(): readonly RecordName[]
  /** Undefined if nothing was lost. */
  restore(options: { readonly dryRun: boolean }): Promise<RestoreReport | undefined>
}

export interface Service {
  readonly version: string
  readonly status: ServiceStatus
  readonly store: StoreFacts
  readonly records: RecordsCare
  readonly decider: Decider
  readonly stats: Stats
  readonly policies: PolicyKeeper
  readonly keys: KeyRing
  readonly audit: Pick<AuditTrail, 'append' | 'read'>
  readonly logger: Logger
  /** Whether requests need an API key. */
  readonly keysRequired: boolean
  /** Whether, where they need none, they may call the service by any name. */
  readonly anyHost: boolean
  readonly trustedProxies: readonly string[]
}
