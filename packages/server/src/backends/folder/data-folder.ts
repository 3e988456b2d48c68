// The data folder: all files of one instance, under one lock.

import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { MemoryStore, MemoryStoreOptions } from 'sluice'
import { messageOf, ServerError } from '../../errors.ts'
import { FolderLock, type LockOptions } from '../../files/folder-lock.ts'
import { forgetCounters, type OpenedCounters, openCounters, saveCounters } from './counter-file.ts'
import { Journal, type JournalOptions } from './journal.ts'

export type DataFolderOptions = LockOptions & Omit<JournalOptions, 'isOurs'>

export class DataFolder {
  readonly path: string
  /** Policies and keys. */
  readonly records: Journal
  readonly #lock: FolderLock

  private constructor(path: string, lock: FolderLock, records: Journal) {
    this.path = path
    this.#lock = lock
    this.records = records
  }

  /** Creates the folder if needed, locks it and reads it. Throws ERR_DATA_LOCKED, ERR_DATA_DAMAGED or ERR_DATA_WRITE. */
  static async open(folder: string, options: DataFolderOptions = {}): Promise<DataFolder> {
    const path = resolve(folder)
    let lock: FolderLock | undefined
    try {
      await mkdir(path, { recursive: true, mode: 0o700 })
      lock = await FolderLock.acquire(path, options)
      const held = lock
      return new DataFolder(path, lock, await Journal.open(path, { ...options, isOurs: () => held.isHeld() }))
    } catch (cause) {
      await lock?.release()
      if (cause instanceof ServerError) throw cause
      throw new ServerError('ERR_DATA_WRITE', `the data folder ${path} cannot be used: ${messageOf(cause)}`, { cause })
    }
  }

  /** Repairs that were made when it was opened, for the log. */
  get notices(): readonly string[] {
    return this.records.notices
  }

  /** Creates a memory store with the counters of the last planned stop. Call `forgetCounters` once the service is up. */
  openCounters(options: MemoryStoreOptions = {}): Promise<OpenedCounters> {
    return openCounters(this.path, options)
  }

  forgetCounters(): Promise<void> {
    return forgetCounters(this.path)
  }

  saveCounters(store: MemoryStore): Promise<void> {
    return saveCounters(this.path, store)
  }

  async close(): Promise<void> {
    await this.records.close()
    await this.#lock.release()
  }
}
