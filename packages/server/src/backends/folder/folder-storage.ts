// Storage in a data folder, with counters in memory.

import type { MemoryStore } from 'sluice'
import type { AuditTrail } from '../../audit/audit-trail.ts'
import type { ServiceStorage, StorageOptions } from '../service-storage.ts'
import { DataFolder } from './data-folder.ts'
import { openFolderAudit } from './folder-audit.ts'

export async function folderStorage({ config, logger }: StorageOptions): Promise<ServiceStorage> {
  const folder = await DataFolder.open(config.dataFolder)
  for (const notice of folder.notices) logger.warn(notice)
  let store: MemoryStore
  let audit: AuditTrail
  try {
    const opened = await folder.openCounters({ maxKeys: config.maxKeys })
    if (opened.problem !== undefined) logger.warn(opened.problem)
    store = opened.store
    audit = await openFolderAudit(folder.path, folder.records.lastEntries)
  } catch (error) {
    await folder.close()
    throw error
  }
  return {
    records: folder.records,
    audit,
    fleet: undefined,
    store,
    storeFacts: { kind: 'memory', size: () => store.size, evictions: () => store.evictions, failureMode: config.failureMode },
    maintenance: { loss: () => undefined, unreadable: () => [], restore: async () => undefined },
    loaded: Promise.resolve(),
    hasCopy: async () => false,
    trouble: () => 'the data folder is not read',
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
