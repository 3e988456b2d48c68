// The admin key that a service creates at its first start.
// Invariant: of several instances that start at once, one creates it. An instance that dies before its commit leaves nothing behind, so
// the next start creates the key. None is created while another instance knows keys that the database has lost.

import { setTimeout as pause } from 'node:timers/promises'
import { FIRST_START } from './desk/caller.ts'
import type { KeyChanges } from './desk/key-changes.ts'
import { ServerError, type ServerErrorCode } from './errors.ts'
import { isValid } from './keys/api-key.ts'
import type { KeyRing, NewApiKey } from './keys/key-ring.ts'

/** Pause between attempts to create the first key. */
const AGAIN_MS = 500

/**
 * Failures after which the key is tried again: the database lacks records that another instance knows, another instance has made a
 * change first, or the answer was lost.
 */
const TRIED_AGAIN: readonly ServerErrorCode[] = ['ERR_RECORDS_LOST', 'ERR_CONFLICT', 'ERR_DATA_UNKNOWN']

/** Creates the admin key of a first start, and calls `onFirstKey` with its secret. Does nothing if there are keys. */
export async function makeFirstKey(keys: KeyRing, changes: KeyChanges, onFirstKey: (secret: string) => void): Promise<void> {
  const tried = new Set<string>()
  let isUnknown = false
  for (;;) {
    // A key whose answer was lost. Its secret is not known any more.
    const unseen = keys.list().find((key) => tried.has(key.id) && isValid(key, Date.now()))
    if (unseen === undefined && keys.list().length > 0) return
    try {
      const wanted = { name: 'first-admin', scopes: ['admin' as const] }
      const onAttempt = (id: string) => void tried.add(id)
      // The secret is shown before the audit, because it cannot be shown later.
      const onCommitted = ({ secret }: NewApiKey) => onFirstKey(secret)
      await changes.createFirst(FIRST_START, wanted, { onAttempt, onCommitted, replaces: unseen?.id })
      return
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
