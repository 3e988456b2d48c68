// The admin key that a service creates at its first start.
// Invariant: of several instances that start at once, one creates it. None does while another instance knows keys that Redis has lost.

import { setTimeout as pause } from 'node:timers/promises'
import { ServerError } from './errors.ts'
import type { KeyRing, NewApiKey } from './keys/key-ring.ts'
import type { ServiceStorage } from './storage.ts'

/** Pause between attempts to create the first key, while Redis lacks records that another instance knows. */
const FIRST_KEY_AGAIN_MS = 500

/** Creates the admin key of a first start, and calls `onFirstKey` with its secret. Does nothing if there are keys. */
export async function makeFirstKey(storage: ServiceStorage, keys: KeyRing, onFirstKey: (secret: string) => void): Promise<void> {
  if (keys.list().length > 0 || !(await storage.isFirst())) return
  const made = await createUnlessLost(keys)
  if (made === undefined) return
  const { key, secret } = made
  // First, because the secret cannot be shown later.
  onFirstKey(secret)
  const after = { name: key.name, scopes: key.scopes }
  await storage.audit.append({ actor: 'first-start', action: 'key.create', target: key.id, after })
}

/** Another instance may know keys that Redis has lost. Once they are restored, no first key is created. */
async function createUnlessLost(keys: KeyRing): Promise<NewApiKey | undefined> {
  while (keys.list().length === 0) {
    try {
      return await keys.create({ name: 'first-admin', scopes: ['admin'] })
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
