// Creates an API key directly in the data folder or in Redis, without the service. For operators who have lost every admin key.
// Invariant: such a key is valid on every instance that uses the same folder or Redis.

import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { AuditTrail } from '../audit/audit-trail.ts'
import type { NewKey } from '../client/answers.ts'
import type { Records } from '../data/records.ts'
import { ServerError } from '../errors.ts'
import type { Scope } from '../keys/api-key.ts'
import type { Loss } from '../redis/records-loss.ts'
import type { RedisAddress } from '../redis/redis-connection.ts'
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

/** Time limit for reading Redis. */
const READ_MS = 5000

/** Creates a key where a service with the same flags, variables and file stores its keys. */
export async function createWhereKept(place: KeptPlace, env: Terminal['env'], wanted: WantedKey): Promise<NewKey> {
  const { loadConfig } = await import('../config/config.ts')
  const { config, written } = await loadConfig({ flags: { ...place }, env })
  const { store, dataFolder } = config
  if (store.kind !== 'memory') return createInRedis(store, wanted)
  // Opening a folder would create it. A misspelt path must not do that.
  if (!existsSync(dataFolder)) throw new UsageError(`there is no data folder ${dataFolder}`)
  const { COPY_FILE } = await import('../redis/records-copy.ts')
  if (written.store.origin === 'default' && existsSync(join(resolve(dataFolder), COPY_FILE))) {
    throw new UsageError(
      `${dataFolder} contains a copy of records in Redis, so its service stores its keys there: name that Redis with --store, or give --store memory: if the service uses it no longer`,
    )
  }
  return createInFolder(dataFolder, wanted)
}

async function createInFolder(path: string, wanted: WantedKey): Promise<NewKey> {
  const [{ DataFolder }, { AuditTrail }] = await Promise.all([
    import('../data/data-folder.ts'),
    import('../audit/audit-trail.ts'),
  ])
  const folder = await DataFolder.open(path)
  try {
    const audit = await AuditTrail.open(folder.path)
    try {
      return await create(folder.records, audit, wanted)
    } finally {
      await audit.close()
    }
  } finally {
    await folder.close()
  }
}

async function createInRedis(address: RedisAddress, wanted: WantedKey): Promise<NewKey> {
  const [{ RedisConnection }, { RedisRecords }, { redisAuditTrail }] = await Promise.all([
    import('../redis/redis-connection.ts'),
    import('../redis/redis-records.ts'),
    import('../redis/redis-audit-log.ts'),
  ])
  let problem: Error | undefined
  const onError = (error: Error | undefined): void => {
    problem = error ?? problem
  }
  const connection = new RedisConnection(address, onError)
  let onLoss: (loss: Loss | undefined) => void = () => {}
  const lost = new Promise<never>((_, reject) => {
    onLoss = (loss) => loss && reject(lostError(loss))
  })
  const records = new RedisRecords({ send: connection.send, onPoll: onError, onLoss })
  try {
    await within(
      READ_MS,
      // While records are lost, an instance that knows none gets none, so `start` would not resolve.
      Promise.race([connection.connect().then(() => records.start()), lost]),
      () => problem,
    )
    return await create(records, redisAuditTrail(connection.send), wanted)
  } finally {
    await records.close()
    await connection.close()
  }
}

function lostError({ knownBy }: Loss): ServerError {
  const message = `Redis lost changes of policies and keys, and no key can be created until they are restored: run sluice records restore at the instance that knows them (${knownBy}), then create the key. If that instance is gone for good, try again in ten seconds`
  return new ServerError('ERR_RECORDS_LOST', message)
}

async function within<T>(ms: number, work: Promise<T>, why: () => Error | undefined): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new UnreachableError(`Redis did not answer within ${ms} ms: ${why()?.message ?? 'no reason'}`)),
      ms,
    )
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

async function create(
  records: Records,
  audit: Pick<AuditTrail, 'append'>,
  { name, scopes, expiresAt }: WantedKey,
): Promise<NewKey> {
  const { KeyRing } = await import('../keys/key-ring.ts')
  const keys = new KeyRing(records)
  try {
    const { key, secret } = await keys.create({ name, scopes: [...scopes], ...(expiresAt && { expiresAt: expiresAt.getTime() }) })
    await audit.append({ actor: 'cli', action: 'key.create', target: key.id, after: { name, scopes } })
    const createdAt = new Date(key.createdAt)
    return { key: { id: key.id, name, scopes, createdAt, expiresAt, revokedAt: undefined, lastUsedAt: undefined }, secret }
  } finally {
    await keys.close()
  }
}
