// Saves counters across a planned stop: a dump of the memory store in a file. A crash loses the counters.
// Invariant: an incomplete file is not used, and a file is used only once.

import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { dumpStore, type MemoryStore, type MemoryStoreOptions, memoryStore, restoreStore, SluiceError } from 'sluice'
import { syncFolder } from '../../files/append-file.ts'
import { replaceFile } from '../../files/replace-file.ts'

const COUNTERS = 'counters.bin'

/** A memory store, with the saved counters if there are any. */
export interface OpenedCounters {
  readonly store: MemoryStore
  /** The reason why saved counters could not be used, for people. */
  readonly problem: string | undefined
}

/** Writes all counters of a store. The file contains the secret of the key hashes, so only its owner may read it. */
export async function saveCounters(folder: string, store: MemoryStore): Promise<void> {
  await replaceFile(join(folder, COUNTERS), [dumpStore(store)])
}

/** Creates the store. The file stays until `forgetCounters`, in case the start fails later. */
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

/** Deletes the file. Call it once the store is in use, because the file is outdated then. */
export async function forgetCounters(folder: string): Promise<void> {
  await rm(join(folder, COUNTERS), { force: true })
  await syncFolder(folder)
}
