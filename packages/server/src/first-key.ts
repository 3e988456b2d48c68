// The admin key that a service creates at its first start.
// Invariant: of several instances that start at once, one creates it. An instance that dies before its commit leaves nothing behind, so
// the next start creates the key. None is created while another instance knows keys that the database has lost.

import { setTimeout as pause } from 'node:timers/promises'
import type { ServiceStorage } from './backends/service-storage.ts'
import { ServerError, type ServerErrorCode } from './errors.ts'
import { isValid } from './keys/api-key.ts'
import type { ApiKey, KeyRing, NewApiKey } from './keys/key-ring.ts'
import type { ChangeNote, MakeNote } from './records.ts'

/** Pause between attempts to create the first key. */
const AGAIN_MS = 500

/**
 * Failures after which the key is tried again: the database lacks records that another instance knows, another instance has made a
 * change first, or the answer was lost.
 */
const TRIED_AGAIN: readonly ServerErrorCode[] = ['ERR_RECORDS_LOST', 'ERR_CONFLICT', 'ERR_DATA_UNKNOWN']

/** Creates the admin key of a first start, and calls `onFirstKey` with its secret. Does nothing if there are keys. */
export async function makeFirstKey(
  storage: Pick<ServiceStorage, 'audit'>,
  keys: KeyRing,
  onFirstKey: (secret: string) => void,
): Promise<void> {
  const notes: ChangeNote[] = []
  const made = await createUnlessMade(keys, notes)
  if (made === undefined) return
  // First, because the secret cannot be shown later.
  onFirstKey(made.secret)
  for (const note of notes.slice(-1)) await storage.audit.appendNote(note)
}

/** Returns undefined once there are keys of others. Adds the note of each attempt to `notes`. */
async function createUnlessMade(keys: KeyRing, notes: ChangeNote[]): Promise<NewApiKey | undefined> {
  const noteOf: MakeNote<ApiKey> = ({ id, name, scopes }) => {
    const entry = { actor: 'first-start', action: 'key.create', target: id, after: { name, scopes } }
    const note = { entry, isStored: false }
    notes.push(note)
    return note
  }
  let isUnknown = false
  for (;;) {
    // A key whose answer was lost. Its secret is not known any more.
    const unseen = keys.list().find((key) => notes.some(({ entry }) => entry.target === key.id) && isValid(key, Date.now()))
    if (unseen === undefined && keys.list().length > 0) return undefined
    try {
      if (unseen !== undefined) return await keys.rotate(unseen.id, { graceMs: 0 }, noteOf)
      return await keys.createFirst({ name: 'first-admin', scopes: ['admin'] }, noteOf)
    } catch (error) {
      const code = error instanceof ServerError ? error.code : undefined
      if (code === 'ERR_DATA_UNKNOWN') isUnknown = true
      // After a lost answer, the key may be there without anybody who knows its secret. So a failure does not end the attempts.
      const isTriedAgain = code !== undefined && (TRIED_AGAIN.includes(code) || (isUnknown && code === 'ERR_DATA_WRITE'))
      if (!isTriedAgain) throw error
      await pause(AGAIN_MS, undefined, { ref: false })
    }
  }
}

/** Prints the secret to standard output. */
export function printKey(secret: string): void {
  process.stdout.write(`This is the first start. The admin key, shown only now:\n\n  ${secret}\n\n`)
}
