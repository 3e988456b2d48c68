// The state of the records, and the restore of lost ones, without any database.

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
