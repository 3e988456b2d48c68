// Creates an API key directly in the data folder or in a database, without the service. For operators who have lost every admin key.
// Invariant: such a key is valid on every instance that uses the same folder or database.

import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { NewKey } from 'sluice-client/node'
import type { AuditTrail } from '../audit/audit-trail.ts'
import type { DatabaseAddress } from '../backends/databases.ts'
import type { Loss } from '../backends/records/records-loss.ts'
import type { Config } from '../config/config.ts'
import { BACKEND_KINDS, BACKENDS, backendOf } from '../config/store-address.ts'
import { ServerError } from '../errors.ts'
import type { Scope } from '../keys/api-key.ts'
import type { Records } from '../records.ts'
import { UnreachableError, UsageError } from './exit-codes.ts'
import type { Terminal } from './terminal.ts'

export interface WantedKey {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly expiresAt?: Date
}

/** The flags of `sluice serve` that determine where keys are stored. */
export interface KeptPlace {
  readonly dataFolder?: string
  readonly store?: string
  readonly config?: string
}

/** Time limit for reading a database. */
const READ_MS = 5000

/** Creates a key where a service with the same flags, variables and file stores its keys. */
export async function createWhereKept(place: KeptPlace, env: Terminal['env'], wanted: WantedKey): Promise<NewKey> {
  const { loadConfig } = await import('../config/config.ts')
  const { config, written } = await loadConfig({ flags: { ...place }, env })
  const { store, dataFolder } = config
  if (store.kind !== 'memory') return createInDatabase(store, config, wanted)
  // Opening a folder would create it. A misspelt path must not do that.
  if (!existsSync(dataFolder)) throw new UsageError(`there is no data folder ${dataFolder}`)
  const { copyFileOf } = await import('../backends/records/records-copy.ts')
  const copied = BACKEND_KINDS.find((kind) => existsSync(join(resolve(dataFolder), copyFileOf(kind))))
  if (written.store.origin === 'default' && copied !== undefined) {
    const { title } = BACKENDS[copied]
    throw new UsageError(
      `${dataFolder} contains a copy of records in ${title}, so its service stores its keys there: name that ${title} with --store, or give --store memory: if the service uses it no longer`,
    )
  }
  return createInFolder(dataFolder, wanted)
}

async function createInFolder(path: string, wanted: WantedKey): Promise<NewKey> {
  const [{ DataFolder }, { openFolderAudit }] = await Promise.all([
    import('../backends/folder/data-folder.ts'),
    import('../backends/folder/folder-audit.ts'),
  ])
  const folder = await DataFolder.open(path)
  try {
    const audit = await openFolderAudit(folder.path, folder.records.lastEntries)
    try {
      return await create(folder.records, audit, wanted)
    } finally {
      await audit.close()
    }
  } finally {
    await folder.close()
  }
}

async function createInDatabase(
  address: DatabaseAddress,
  { maxKeys, failureTimeoutMs }: Config,
  wanted: WantedKey,
): Promise<NewKey> {
  const [{ openDatabase }, { SharedRecords }] = await Promise.all([
    import('../backends/databases.ts'),
    import('../backends/records/shared-records.ts'),
  ])
  const { title } = BACKENDS[backendOf(address)]
  if (address.kind === 'sqlite' && !existsSync(address.path)) throw new UsageError(`there is no SQLite file ${address.path}`)
  let problem: Error | undefined
  const onError = (error: Error | undefined): void => {
    problem = error ?? problem
  }
  const options = { onError, onChange: () => {}, maxKeys, timeoutMs: failureTimeoutMs }
  const database = await openDatabase(address, options)
  let onLoss: (loss: Loss | undefined) => void = () => {}
  const lost = new Promise<never>((_, reject) => {
    onLoss = (loss) => loss && reject(lostError(title, loss))
  })
  const records = new SharedRecords({ database: database.records, onPoll: onError, onLoss })
  try {
    await within(
      READ_MS,
      // While records are lost, an instance that knows none gets none, so `start` would not resolve.
      Promise.race([database.connect().then(() => records.start()), lost]),
      () => new UnreachableError(`${title} did not answer within ${READ_MS} ms: ${problem?.message ?? 'no reason'}`),
    )
    return await create(records, database.audit, wanted)
  } finally {
    await records.close()
    await database.close()
  }
}

function lostError(title: string, { knownBy }: Loss): ServerError {
  const message = `${title} lost changes of policies and keys, and no key can be created until they are restored: run sluice records restore at the instance that knows them (${knownBy}), then create the key. If that instance is gone for good, try again in ten seconds`
  return new ServerError('ERR_RECORDS_LOST', message)
}

async function within<T>(ms: number, work: Promise<T>, lateError: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(lateError()), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

async function create(
  records: Records,
  audit: Pick<AuditTrail, 'appendNote'>,
  { name, scopes, expiresAt }: WantedKey,
): Promise<NewKey> {
  const [{ KeyRing }, { COMMAND_LINE }, { ChangeDesk }, { KeyChanges }] = await Promise.all([
    import('../keys/key-ring.ts'),
    import('../desk/caller.ts'),
    import('../desk/change-desk.ts'),
    import('../desk/key-changes.ts'),
  ])
  const keys = new KeyRing(records)
  const changes = new KeyChanges(new ChangeDesk(records, audit), keys)
  try {
    const options = { name, scopes: [...scopes], ...(expiresAt && { expiresAt: expiresAt.getTime() }) }
    const { key, secret } = await changes.create(COMMAND_LINE, options)
    const createdAt = new Date(key.createdAt)
    return { key: { id: key.id, name, scopes, createdAt, expiresAt, revokedAt: undefined, lastUsedAt: undefined }, secret }
  } finally {
    await changes.close()
    keys.close()
  }
}
