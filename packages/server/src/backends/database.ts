// A database that holds everything of the service: counters, policies, keys and the audit log. Several instances may share it.

import type { Store } from 'sluice'
import type { AuditTrail } from '../audit/audit-trail.ts'
import type { FleetBoard } from '../fleet/fleet-board.ts'
import type { RecordsDatabase } from './records/records-database.ts'

export interface OpenedDatabase {
  /** Policies and keys. */
  readonly records: RecordsDatabase
  readonly audit: AuditTrail
  readonly fleet: FleetBoard
  readonly store: Store
  /** Number of counters and number of evictions. Undefined if the store cannot tell. */
  size(): number | undefined
  evictions(): number | undefined
  /** Tries until the database answers or is closed. Throws ERR_DATA_VERSION if a newer program wrote the records. */
  connect(): Promise<void>
  /** No call may be made afterwards. */
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** Called for every error of the connection. */
  readonly onError: (error: Error) => void
  /** Called if another instance has probably made a change. */
  readonly onChange: () => void
  /** Maximum number of counters, for a store that does not limit itself. */
  readonly maxKeys: number
  /** Time that the store has to answer. */
  readonly timeoutMs: number
}
