// Storage in a database that instances can share: Redis, PostgreSQL or a SQLite file. The data folder has a copy of policies and keys.

import { BACKENDS, backendOf, showStore } from '../config/store-address.ts'
import type { ServerError } from '../errors.ts'
import type { Logger } from '../log/logger.ts'
import { type DatabaseAddress, openDatabase } from './databases.ts'
import type { UnreadableRecord } from './records/found-records.ts'
import { RecordsCopy } from './records/records-copy.ts'
import type { Loss } from './records/records-loss.ts'
import { SharedRecords } from './records/shared-records.ts'
import type { ServiceStorage, StorageOptions } from './service-storage.ts'

export async function databaseStorage(options: StorageOptions, address: DatabaseAddress): Promise<ServiceStorage> {
  const { config, logger, onStore } = options
  const kind = backendOf(address)
  const events = databaseLog({
    title: BACKENDS[kind].title,
    logger,
    onStore,
    troubleOf: (error) => database.records.troubleOf(error),
  })
  const copyOptions = { folder: config.dataFolder, kind, source: showStore(address), onError: events.onCopyError }
  const database = await openDatabase(address, {
    onError: events.onError,
    onChange: () => records.nudge(),
    maxKeys: config.maxKeys,
    timeoutMs: config.failureTimeoutMs,
  })
  const { store, audit, fleet } = database
  const records: SharedRecords = new SharedRecords({
    ...events,
    database: database.records,
    onChange: () => scheduleCopy(),
  })
  const known = () => records.known
  let copy: RecordsCopy | undefined
  const scheduleCopy = (): void => {
    if (records.isRead) copy?.changed(known)
  }
  // The copy is loaded first, because the database is compared with it.
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
    audit,
    fleet,
    store,
    storeFacts: { kind, size: () => database.size(), evictions: () => database.evictions(), failureMode: config.failureMode },
    maintenance: {
      loss: () => records.loss,
      unreadable: () => records.unreadable,
      restore: (wanted) => records.restore(wanted),
    },
    loaded: copied.then(() => database.connect()).then(() => records.start()),
    hasCopy: () => copied,
    trouble: () => events.trouble(),
    started: async () => {},
    close: async () => {
      await records.close()
      await copyOpened
      await copy?.close(known)
      await database.close()
    },
  }
}

interface DatabaseLogOptions {
  /** The name of the database in messages. */
  readonly title: string
  readonly logger: Logger
  readonly onStore: (isUp: boolean) => void
  readonly troubleOf: (error: unknown) => string
}

/** Logs the state of the database when it changes, instead of twice a second. */
function databaseLog({ title, logger, onStore, troubleOf }: DatabaseLogOptions) {
  let isUp = true
  let loggedError = ''
  let trouble = `${title} does not answer`
  return {
    trouble: () => trouble,
    onPoll: (error: ServerError | undefined): void => {
      onStore(error === undefined)
      if (error !== undefined) trouble = troubleOf(error)
      if (error !== undefined && isUp) logger.warn({ err: error }, `${trouble}: policies and keys stay as they are`)
      if (error === undefined && !isUp) logger.info(`${title} answers again`)
      isUp = error === undefined
      if (isUp) loggedError = ''
    },
    onError: (error: Error): void => {
      trouble = troubleOf(error)
      // The connection retries several times a second, so the same error is logged once.
      if (error.message !== loggedError) logger.warn({ err: error }, `the connection to ${title} failed: ${trouble}`)
      loggedError = error.message
    },
    onLoss: (loss: Loss | undefined): void => {
      if (loss === undefined) return logger.info(`${title} has all policies and keys again`)
      trouble = `${title} lost policies and keys, and this instance knows none`
      const text = `${title} lost changes of policies and keys. This instance goes on with those that it knows, and nothing can be changed until they are restored: run sluice records restore. Entries of the audit log are lost with them`
      logger.error(loss, text)
    },
    onUnreadable: ({ kind, id }: UnreadableRecord): void =>
      logger.error({ kind, id }, `a ${kind === 'key' ? 'key' : 'policy'} in ${title} cannot be read and is ignored`),
    onCopyError: (error: ServerError): void =>
      logger.warn(
        { err: error },
        `no copy of policies and keys is written: without it, a start while ${title} is down has to wait for ${title}`,
      ),
  }
}
