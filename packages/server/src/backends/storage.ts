// Opens the storage of the service: a data folder, or a database that instances can share.

import { databaseStorage } from './database-storage.ts'
import { folderStorage } from './folder/folder-storage.ts'
import type { ServiceStorage, StorageOptions } from './service-storage.ts'

export function openStorage(options: StorageOptions): Promise<ServiceStorage> {
  const { store } = options.config
  return store.kind === 'memory' ? folderStorage(options) : databaseStorage(options, store)
}
