// Dependencies of the API: everything that a request may need, created once.

import type { Logger } from 'pino'
import type { AuditTrail } from './audit/audit-trail.ts'
import type { BackendKind } from './config/store-address.ts'
import type { Decider } from './decide/decider.ts'
import type { Desk } from './desk/desk.ts'
import type { Fleet } from './fleet/fleet.ts'
import type { FailedKeys } from './keys/failed-keys.ts'
import type { KeyRing } from './keys/key-ring.ts'
import type { PolicyKeeper } from './policies/policy-keeper.ts'
import type { RecordsMaintenance } from './records-maintenance.ts'
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
  /** Makes and audits every change. */
  readonly desk: Desk
  readonly audit: Pick<AuditTrail, 'read'>
  /** Statistics of all instances that share the database. */
  readonly fleet: Pick<Fleet, 'view' | 'id' | 'up'>
  readonly logger: Logger
  /** True if requests need an API key. */
  readonly keysRequired: boolean
  /** Used only without required keys. True if the Host header may have any value. */
  readonly anyHost: boolean
  readonly trustedProxies: readonly string[]
}
