// Counters over a planned stop: the memory store's dump in a file. A crash forgets counters; the file is for who stops in peace.
// What must stay true: a file that is not whole is not used, and one that was used is not used again.

import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { dumpStore, type MemoryStore, type MemoryStoreOptions, memoryStore, restoreStore, SluiceError } from 'sluice'
import { syncFolder } from './append-file.ts'
import { replaceFile } from './replace-file.ts'

const COUNTERS = 'counters.bin'

/** A memory store, with the counters that were saved if there are any. */
export interface OpenedCounters {
  readonly store: MemoryStore
  /** Why counters that were saved could not be used, for people to read. */
  readonly problem: string | undefined
}

/** Writes all counters of a store. It holds the secret that keys are hashed with, so nobody else may read it. */
export async function saveCounters(folder: string, store: MemoryStore): Promise<void> {
  await replaceFile(join(folder, COUNTERS), [dumpStore(store)])
}

/** Makes the store. What was saved stays until `forgetCounters`, for a start that fails later on. */
export async function openCounters(folder: string, options: MemoryStoreOptions = {}): Promise<OpenedCounters> {
  const path = join(folder, COUNTERS)
  try {
    return { store: restoreStore(await readFile(path), options), problem: undefined }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { store: memoryStore(options), problem: undefined }
    if (!(error instanceof SluiceError && error.code === 'ERR_DUMP')) throw error
    return { store: memoryStore(options), problem: `${path} is not used, counters start empty: ${error.message}` }
  }
}

/** Once the store is in use, what was saved is no longer true. */
export async function forgetCounters(folder: string): Promise<void> {
  await rm(join(folder, COUNTERS), { force: true })
  await syncFolder(folder)
}
