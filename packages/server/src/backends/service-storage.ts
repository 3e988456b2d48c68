// The storage of the service: records, audit log, counters.
// Invariant: callers cannot tell the backends apart, except by `storeFacts.kind`.

import type { Store } from 'sluice'
import type { AuditTrail } from '../audit/audit-trail.ts'
import type { Config } from '../config/config.ts'
import type { FleetBoard } from '../fleet/fleet-board.ts'
import type { Logger } from '../log/logger.ts'
import type { Records } from '../records.ts'
import type { RecordsMaintenance } from '../records-maintenance.ts'
import type { StoreFacts } from '../service.ts'

export interface ServiceStorage {
  readonly records: Records
  readonly audit: Pick<AuditTrail, 'append' | 'appendNote' | 'read' | 'close'>
  /** The board of instances that share the database; undefined without one. */
  readonly fleet: FleetBoard | undefined
  readonly store: Store
  readonly storeFacts: StoreFacts
  readonly maintenance: RecordsMaintenance
  /** Resolves when the records have been read, or are known although the database has lost them. */
  readonly loaded: Promise<void>
  /** True if there is a local copy of the records to start with while the database cannot be read. */
  hasCopy(): Promise<boolean>
  /** The reason why nothing could be read yet, as the start of a sentence. */
  trouble(): string
  /** Call it once the service is up. */
  started(): Promise<void>
  /** Saves and releases everything. No check may be decided afterwards. */
  close(): Promise<void>
}

export interface StorageOptions {
  readonly config: Config
  readonly logger: Logger
  /** Called with true if the database answers, and false if it does not. */
  readonly onStore: (isUp: boolean) => void
}
