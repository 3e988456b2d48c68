// The admin key that a service creates at its first start.
// Invariant: of several instances that start at once, one creates it. None does while another instance knows keys that the database has lost.

import { setTimeout as pause } from 'node:timers/promises'
import type { ChangeNote, MakeNote } from './data/records.ts'
import { ServerError } from './errors.ts'
import type { ApiKey, KeyRing, NewApiKey } from './keys/key-ring.ts'
import type { ServiceStorage } from './service-storage.ts'

/** Pause between attempts to create the first key, while the database lacks records that another instance knows. */
const FIRST_KEY_AGAIN_MS = 500

/** Creates the admin key of a first start, and calls `onFirstKey` with its secret. Does nothing if there are keys. */
export async function makeFirstKey(storage: ServiceStorage, keys: KeyRing, onFirstKey: (secret: string) => void): Promise<void> {
  if (keys.list().length > 0 || !(await storage.isFirst())) return
  const notes: ChangeNote[] = []
  const made = await createUnlessLost(keys, ({ id, name, scopes }) => {
    const entry = { actor: 'first-start', action: 'key.create', target: id, after: { name, scopes } }
    const note = { entry, isStored: false }
    notes.push(note)
    return note
  })
  if (made === undefined) return
  // First, because the secret cannot be shown later.
  onFirstKey(made.secret)
  for (const note of notes.slice(-1)) await storage.audit.appendNote(note)
}

/** Another instance may know keys that the database has lost. Once they are restored, no first key is created. */
async function createUnlessLost(keys: KeyRing, noteOf: MakeNote<ApiKey>): Promise<NewApiKey | undefined> {
  while (keys.list().length === 0) {
    try {
      return await keys.create({ name: 'first-admin', scopes: ['admin'] }, noteOf)
    } catch (error) {
      if (!(error instanceof ServerError && error.code === 'ERR_RECORDS_LOST')) throw error
      await pause(FIRST_KEY_AGAIN_MS, undefined, { ref: false })
    }
  }
  return undefined
}

/** Prints the secret to standard output. */
export function printKey(secret: string): void {
  process.stdout.write(`This is the first start. The admin key, shown only now:\n\n  ${secret}\n\n`)
}
