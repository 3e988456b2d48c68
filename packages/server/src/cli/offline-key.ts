// Makes an API key where the service keeps its keys, without asking the service: the way in for somebody who has lost every admin key.
// Invariant: a key that was made here works, on every instance that keeps its keys there.

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

/** Flags of `sluice serve` that say where keys are kept. */
export interface KeptPlace {
  readonly dataFolder?: string
  readonly store?: string
  readonly config?: string
}

/** Redis has to be reached and read within this time. */
const READ_MS = 5000

/** Makes a key where a service with the same flags, variables and file keeps its keys. */
export async function createWhereKept(place: KeptPlace, env: Terminal['env'], wanted: WantedKey): Promise<NewKey> {
  const { loadConfig } = await import('../config/config.ts')
  const { config, written } = await loadConfig({ flags: { ...place }, env })
  const { store, dataFolder } = config
  if (store.kind !== 'memory') return createInRedis(store, wanted)
  // Opening a folder makes it, which somebody who misspelt it does not want.
  if (!existsSync(dataFolder)) throw new UsageError(`there is no data folder ${dataFolder}`)
  const { COPY_FILE } = await import('../redis/records-copy.ts')
  if (written.store.origin === 'default' && existsSync(join(resolve(dataFolder), COPY_FILE))) {
    throw new UsageError(
      `${dataFolder} has a copy of what is in a Redis, where its service keeps its keys: say with --store which one, or --store memory: if it no longer does`,
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
  const heard = (error: Error | undefined): void => {
    problem = error ?? problem
  }
  const connection = new RedisConnection(address, heard)
  let onLoss: (loss: Loss | undefined) => void = () => {}
  const lost = new Promise<never>((_, reject) => {
    onLoss = (loss) => loss && reject(lostError(loss))
  })
  const records = new RedisRecords({ send: connection.send, onLook: heard, onLoss })
  try {
    await within(
      READ_MS,
      // While records are lost, somebody who knows none of them is not told any.
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
  const message = `Redis lost changes of policies and keys, and no key can be made until they are back: run sluice records restore at the instance that knows them (${knownBy}), then make the key. If that instance is gone for ever, try again in ten seconds`
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
