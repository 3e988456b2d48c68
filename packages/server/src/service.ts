// Dependencies of the API: everything that a request may need, created once.

import type { Logger } from 'pino'
import type { AuditTrail } from './audit/audit-trail.ts'
import type { BackendKind } from './config/store-address.ts'
import type { Decider } from './decide/decider.ts'
import type { FailedKeys } from './keys/failed-keys.ts'
import type { KeyRing } from './keys/key-ring.ts'
import type { PolicyKeeper } from './policies/policy-keeper.ts'
import type { Stats } from './stats/stats.ts'

export { BACKEND_KINDS } from './config/store-address.ts'

/** `starting`: policies and keys are not loaded yet. `draining`: open requests are finished, and new ones are not wanted. */
export type ServiceState = 'starting' | 'ready' | 'draining'

export interface ServiceStatus {
  state: ServiceState
}

/** Facts about the store, for status and metrics. */
export interface StoreFacts {
  readonly kind: BackendKind
  /** Number of states and number of evictions. Undefined if the store cannot tell. */
  size(): number | undefined
  evictions(): number | undefined
  /** The fallback if the store does not answer. */
  readonly failureMode: 'local' | 'allow' | 'deny' | 'throw'
}

/** The database lacks changes of policies and keys that an instance has seen. */
export interface RecordsLoss {
  readonly sinceMs: number
  /** Number of the last change that this instance knows, and of the last change in the database. */
  readonly known: number
  readonly found: number
  /** The instance that knows the most changes, if it is not this one. */
  readonly knownBy: string | undefined
}

export interface RecordName {
  readonly kind: 'policy' | 'key'
  readonly id: string
}

/** Records of a restore, grouped by their outcome. */
export interface RestoreReport {
  readonly written: readonly RecordName[]
  readonly revoked: readonly RecordName[]
  readonly removed: readonly RecordName[]
  readonly kept: readonly RecordName[]
  readonly isExact: boolean
}

/** The state of the records (policies and keys), and the restore of lost ones. */
export interface RecordsMaintenance {
  loss(): RecordsLoss | undefined
  /** Records that exist and cannot be read. */
  unreadable(): readonly RecordName[]
  /** Undefined if nothing was lost. */
  restore(options: { readonly dryRun: boolean }): Promise<RestoreReport | undefined>
}

export interface Service {
  readonly version: string
  readonly status: ServiceStatus
  readonly storeFacts: StoreFacts
  readonly records: RecordsMaintenance
  readonly decider: Decider
  readonly stats: Stats
  readonly policies: PolicyKeeper
  readonly keys: KeyRing
  readonly failedKeys: FailedKeys
  readonly audit: Pick<AuditTrail, 'append' | 'appendNote' | 'read'>
  readonly logger: Logger
  /** True if requests need an API key. */
  readonly keysRequired: boolean
  /** Used only without required keys. True if the Host header may have any value. */
  readonly anyHost: boolean
  readonly trustedProxies: readonly string[]
}
