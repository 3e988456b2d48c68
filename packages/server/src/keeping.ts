// Where the service keeps what it must not lose: a data folder and this process's memory, or Redis.
// Invariant: callers cannot tell which of the two it is, apart from `store.kind`.

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
import type { RecordsCare, StoreFacts } from './service.ts'

/** Checks of one batch travel in one command. */
const CALLS_A_COMMAND = 1024

export interface Keeping {
  readonly records: Records
  readonly audit: Pick<AuditTrail, 'append' | 'read' | 'close'>
  readonly store: Store
  readonly facts: StoreFacts
  readonly care: RecordsCare
  /** Resolves when everything has been read, or is known although Redis has lost it. */
  readonly loaded: Promise<void>
  /** True if a copy of the records is there to start with, as long as Redis cannot be read. */
  hasCopy(): Promise<boolean>
  /** Why nothing could be read yet, as the start of a sentence. */
  trouble(): string
  /** Whether this instance, of all that start at once, is the one to make the first key. */
  isFirst(): Promise<boolean>
  /** Once the service is up. */
  started(): Promise<void>
  /** Saves and releases everything. Nothing may be decided any more. */
  close(): Promise<void>
}

export interface KeepingOptions {
  readonly config: Config
  readonly logger: Logger
  /** Hears whether Redis answers. */
  readonly onStore: (isUp: boolean) => void
}

export function openKeeping(options: KeepingOptions): Promise<Keeping> {
  const { store } = options.config
  return store.kind === 'memory' ? inFolder(options) : inRedis(options, store)
}

async function inFolder({ config, logger }: KeepingOptions): Promise<Keeping> {
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
    facts: { kind: 'memory', size: () => store.size, evictions: () => store.evictions, failureMode: config.failureMode },
    care: { loss: () => undefined, unreadable: () => [], restore: async () => undefined },
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

async function inRedis({ config, logger, onStore }: KeepingOptions, address: RedisAddress): Promise<Keeping> {
  const voice = redisVoice(logger, onStore)
  const of = hidePasswords([...address.urls, address.kind === 'redis-sentinel' ? address.service : ''].join())
  const copyOptions = { folder: config.dataFolder, of, onError: voice.onCopyError }
  const connection = new RedisConnection(address, voice.onError)
  const records: RedisRecords = new RedisRecords({ ...voice, send: connection.send, onChange: () => keepCopy() })
  const known = () => records.known
  let copy: RecordsCopy | undefined
  const keepCopy = (): void => {
    if (records.isRead) copy?.changed(known)
  }
  // Redis is held against the copy, so the copy comes first.
  const copied = RecordsCopy.read(copyOptions).then((assumed) => {
    if (assumed !== undefined) records.assume(assumed)
    return assumed !== undefined
  })
  // Locking may take seconds: nobody waits for it.
  const copyOpened = copied
    .then(() => RecordsCopy.open(copyOptions))
    .then((opened) => {
      copy = opened
      keepCopy()
    })
  return {
    records,
    audit: redisAuditTrail(connection.send),
    store: redisStore(connection.client, { batch: CALLS_A_COMMAND }),
    facts: { kind: 'redis', size: () => undefined, evictions: () => undefined, failureMode: config.failureMode },
    care: {
      loss: () => records.loss,
      unreadable: () => records.unreadable,
      restore: (options) => records.restore(options),
    },
    loaded: copied.then(() => connection.connect()).then(() => records.start()),
    hasCopy: () => copied,
    trouble: () => voice.trouble(),
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

/** Says in the log how Redis does: once for each time that something changes, not twice a second. */
function redisVoice(logger: Logger, onStore: (isUp: boolean) => void) {
  let isUp = true
  let complaint = ''
  let trouble = 'Redis does not answer'
  return {
    trouble: () => trouble,
    onLook: (error: ServerError | undefined): void => {
      onStore(error === undefined)
      if (error !== undefined) trouble = redisTrouble(error)
      if (error !== undefined && isUp) logger.warn({ err: error }, `${trouble}: policies and keys stay as they are`)
      if (error === undefined && !isUp) logger.info('Redis answers again')
      isUp = error === undefined
      if (isUp) complaint = ''
    },
    onError: (error: Error): void => {
      trouble = redisTrouble(error)
      // It goes on trying, and would say the same several times a second.
      if (error.message !== complaint) logger.warn({ err: error }, `the connection to Redis failed: ${trouble}`)
      complaint = error.message
    },
    onLoss: (loss: Loss | undefined): void => {
      if (loss === undefined) return logger.info('Redis has all policies and keys again')
      trouble = 'Redis lost policies and keys, and this instance knows none'
      const text =
        'Redis lost changes of policies and keys. This instance goes on with those that it knows, and nothing can be changed until they are back: run sluice records restore. Entries of the audit log are lost with them'
      logger.error(loss, text)
    },
    onUnreadable: ({ kind, id }: UnreadableRecord): void =>
      logger.error({ kind, id }, `a ${kind === 'key' ? 'key' : 'policy'} in Redis cannot be read and does not count`),
    onCopyError: (error: ServerError): void =>
      logger.warn({ err: error }, 'no copy of policies and keys is kept: a start without Redis will have to wait for it'),
  }
}
