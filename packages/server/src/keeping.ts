// Where the service keeps what it must not lose: a data folder and this process's memory, or Redis.
// What must stay true: whoever uses it cannot tell which of the two it is, apart from `store.kind`.

import type { MemoryStore, Store } from 'sluice'
import { redisStore } from 'sluice/redis'
import type { StoreFacts } from './api/service.ts'
import { AuditTrail } from './audit/audit-trail.ts'
import { hidePasswords } from './config/addresses.ts'
import type { Config } from './config/config.ts'
import { DataFolder } from './data/data-folder.ts'
import type { RecordKind, Records } from './data/records.ts'
import type { ServerError } from './errors.ts'
import type { Logger } from './log/logger.ts'
import { RecordsCopy } from './redis/records-copy.ts'
import { redisAuditTrail } from './redis/redis-audit-log.ts'
import { type RedisAddress, RedisConnection } from './redis/redis-connection.ts'
import { RedisRecords } from './redis/redis-records.ts'

/** Checks of one batch travel in one command. */
const CALLS_A_COMMAND = 1024

export interface Keeping {
  readonly records: Records
  readonly audit: Pick<AuditTrail, 'append' | 'read' | 'close'>
  readonly store: Store
  readonly facts: StoreFacts
  /** Resolves when everything has been read. */
  readonly loaded: Promise<void>
  /** Takes what was last known for what is there, as long as nobody answers; → whether anything was. */
  recall(): Promise<boolean>
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
    loaded: Promise.resolve(),
    recall: async () => false,
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
  let isUp = true
  let complaint = ''
  const onLook = (error: ServerError | undefined): void => {
    onStore(error === undefined)
    // Once for each time that it goes or comes, not twice a second.
    if (error !== undefined && isUp) logger.warn({ err: error }, 'Redis does not answer: policies and keys stay as they are')
    if (error === undefined && !isUp) logger.info('Redis answers again')
    isUp = error === undefined
    if (isUp) complaint = ''
  }
  const onError = (error: Error): void => {
    // It goes on trying, and would say the same several times a second.
    if (error.message !== complaint) logger.warn({ err: error }, 'the connection to Redis failed')
    complaint = error.message
  }
  const onCopyError = (error: ServerError): void =>
    logger.warn({ err: error }, 'no copy of policies and keys is kept: a start without Redis will have to wait for it')
  const of = hidePasswords([...address.urls, address.kind === 'redis-sentinel' ? address.service : ''].join())
  const connection = new RedisConnection(address, onError)
  const records: RedisRecords = new RedisRecords({ send: connection.send, onLook, onChange: () => keepCopy() })
  const tables = (kind: RecordKind) => records.all(kind)
  let copy: RecordsCopy | undefined
  const keepCopy = (): void => {
    if (records.isRead) copy?.changed(tables)
  }
  // Nobody waits for it whom Redis answers.
  const copyOpened = RecordsCopy.open({ folder: config.dataFolder, of, onError: onCopyError }).then((opened) => {
    copy = opened
    keepCopy()
  })
  return {
    records,
    audit: redisAuditTrail(connection.send),
    store: redisStore(connection.client, { batch: CALLS_A_COMMAND }),
    facts: { kind: 'redis', size: () => undefined, evictions: () => undefined, failureMode: config.failureMode },
    loaded: connection.connect().then(() => records.start()),
    recall: async () => {
      await copyOpened
      const known = await copy?.read()
      if (known !== undefined) records.assume(known)
      return known !== undefined
    },
    isFirst: () => records.isFirst(),
    started: async () => {},
    close: async () => {
      await records.close()
      await copyOpened
      await copy?.close(tables)
      await connection.close()
    },
  }
}
