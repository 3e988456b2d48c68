// Storage of the service: a data folder with counters in memory, or Redis for both.
// Invariant: callers cannot tell the two apart, except by `storeFacts.kind`.

import type { MemoryStore, Store } from 'sluice'
import { redisStore } from 'sluice/redis'
import { AuditTrail } from './audit/audit-trail.ts'
import { hidePasswords } from './config/addresses.ts'
import type { Config } from './config/config.ts'
import { DataFolder } from './data/data-folder.ts'
import type { Records } from './data/records.ts'
import type { ServerError } from './errors.ts'
import type { Logger } from './log/logger.ts'
import type { UnreadableRecord } from './redis/found-records.ts'
import { RecordsCopy } from './redis/records-copy.ts'
import type { Loss } from './redis/records-loss.ts'
import { redisTrouble } from './redis/redis-answers.ts'
import { redisAuditTrail } from './redis/redis-audit-log.ts'
import { type RedisAddress, RedisConnection } from './redis/redis-connection.ts'
import { RedisRecords } from './redis/redis-records.ts'
import type { RecordsMaintenance, StoreFacts } from './service.ts'

/** Maximum number of calls in one Redis command. Above the maximum of a batch, so a batch is one command. */
const CALLS_A_COMMAND = 1024

export interface ServiceStorage {
  readonly records: Records
  readonly audit: Pick<AuditTrail, 'append' | 'read' | 'close'>
  readonly store: Store
  readonly storeFacts: StoreFacts
  readonly maintenance: RecordsMaintenance
  /** Resolves when the records have been read, or are known although Redis has lost them. */
  readonly loaded: Promise<void>
  /** True if there is a local copy of the records to start with while Redis cannot be read. */
  hasCopy(): Promise<boolean>
  /** The reason why nothing could be read yet, as the start of a sentence. */
  trouble(): string
  /** True if this instance creates the first key. Of several instances that start at once, only one does. */
  isFirst(): Promise<boolean>
  /** Call it once the service is up. */
  started(): Promise<void>
  /** Saves and releases everything. No check may be decided afterwards. */
  close(): Promise<void>
}

export interface StorageOptions {
  readonly config: Config
  readonly logger: Logger
  /** Called with true if Redis answers, and false if it does not. */
  readonly onStore: (isUp: boolean) => void
}

export function openStorage(options: StorageOptions): Promise<ServiceStorage> {
  const { store } = options.config
  return store.kind === 'memory' ? inFolder(options) : inRedis(options, store)
}

async function inFolder({ config, logger }: StorageOptions): Promise<ServiceStorage> {
  const folder = await DataFolder.open(config.dataFolder)
  for (const notice of folder.notices) logger.warn(notice)
  let store: MemoryStore
  let audit: AuditTrail
  try {
    const opened = await folder.openCounters({ maxKeys: config.maxKeys })
    if (opened.problem !== undefined) logger.warn(opened.problem)
    store = opened.store
    audit = await AuditTrail.open(folder.path)
  } catch (error) {
    await folder.close()
    throw error
  }
  return {
    records: folder.records,
    audit,
    store,
    storeFacts: { kind: 'memory', size: () => store.size, evictions: () => store.evictions, failureMode: config.failureMode },
    maintenance: { loss: () => undefined, unreadable: () => [], restore: async () => undefined },
    loaded: Promise.resolve(),
    hasCopy: async () => false,
    trouble: () => 'the data folder is not read',
    isFirst: async () => true,
    started: () => folder.forgetCounters(),
    close: async () => {
      try {
        await folder.saveCounters(store)
      } finally {
        store.close()
        await audit.close()
        await folder.close()
      }
    },
  }
}

async function inRedis({ config, logger, onStore }: StorageOptions, address: RedisAddress): Promise<ServiceStorage> {
  const redisEvents = redisLog(logger, onStore)
  const source = hidePasswords([...address.urls, address.kind === 'redis-sentinel' ? address.service : ''].join())
  const copyOptions = { folder: config.dataFolder, source, onError: redisEvents.onCopyError }
  const connection = new RedisConnection(address, redisEvents.onError)
  const records: RedisRecords = new RedisRecords({ ...redisEvents, send: connection.send, onChange: () => scheduleCopy() })
  const known = () => records.known
  let copy: RecordsCopy | undefined
  const scheduleCopy = (): void => {
    if (records.isRead) copy?.changed(known)
  }
  // The copy is loaded first, because Redis is compared with it.
  const copied = RecordsCopy.read(copyOptions).then((found) => {
    if (found !== undefined) records.loadCopy(found)
    return found !== undefined
  })
  // Not awaited: locking may take seconds.
  const copyOpened = copied
    .then(() => RecordsCopy.open(copyOptions))
    .then((opened) => {
      copy = opened
      scheduleCopy()
    })
  return {
    records,
    audit: redisAuditTrail(connection.send),
    store: redisStore(connection.client, { batch: CALLS_A_COMMAND }),
    storeFacts: { kind: 'redis', size: () => undefined, evictions: () => undefined, failureMode: config.failureMode },
    maintenance: {
      loss: () => records.loss,
      unreadable: () => records.unreadable,
      restore: (options) => records.restore(options),
    },
    loaded: copied.then(() => connection.connect()).then(() => records.start()),
    hasCopy: () => copied,
    trouble: () => redisEvents.trouble(),
    isFirst: () => records.isFirst(),
    started: async () => {},
    close: async () => {
      await records.close()
      await copyOpened
      await copy?.close(known)
      await connection.close()
    },
  }
}

/** Logs the state of Redis when it changes, instead of twice a second. */
function redisLog(logger: Logger, onStore: (isUp: boolean) => void) {
  let isUp = true
  let loggedError = ''
  let trouble = 'Redis does not answer'
  return {
    trouble: () => trouble,
    onPoll: (error: ServerError | undefined): void => {
      onStore(error === undefined)
      if (error !== undefined) trouble = redisTrouble(error)
      if (error !== undefined && isUp) logger.warn({ err: error }, `${trouble}: policies and keys stay as they are`)
      if (error === undefined && !isUp) logger.info('Redis answers again')
      isUp = error === undefined
      if (isUp) loggedError = ''
    },
    onError: (error: Error): void => {
      trouble = redisTrouble(error)
      // The connection retries several times a second, so the same error is logged once.
      if (error.message !== loggedError) logger.warn({ err: error }, `the connection to Redis failed: ${trouble}`)
      loggedError = error.message
    },
    onLoss: (loss: Loss | undefined): void => {
      if (loss === undefined) return logger.info('Redis has all policies and keys again')
      trouble = 'Redis lost policies and keys, and this instance knows none'
      const text =
        'Redis lost changes of policies and keys. This instance goes on with those that it knows, and nothing can be changed until they are restored: run sluice records restore. Entries of the audit log are lost with them'
      logger.error(loss, text)
    },
    onUnreadable: ({ kind, id }: UnreadableRecord): void =>
      logger.error({ kind, id }, `a ${kind === 'key' ? 'key' : 'policy'} in Redis cannot be read and is ignored`),
    onCopyError: (error: ServerError): void =>
      logger.warn(
        { err: error },
        'no copy of policies and keys is written: without it, a start while Redis is down has to wait for Redis',
      ),
  }
}
