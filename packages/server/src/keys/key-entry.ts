// A key with the digest of its secret, as a key ring holds it.

import { checkInput } from '../input/check-input.ts'
import type { Change } from '../records.ts'
import { type ApiKey, type KeyRecord, KeyRecordSchema } from './api-key.ts'

export interface KeyEntry {
  readonly key: ApiKey & { lastUsedAt?: number }
  readonly digest: Buffer
}

/** Makes an entry from a stored key. Throws if the record cannot be read. */
export function readEntry(id: string, record: unknown): KeyEntry {
  checkInput(KeyRecordSchema, record, `the API key ${id}`)
  const { sha256, ...key } = record
  return { key: { id, ...key }, digest: Buffer.from(sha256, 'hex') }
}

/** Returns the change that stores an entry. */
export function changeTo({ key: { id, scopes, ...key }, digest }: KeyEntry): Change {
  const value: KeyRecord = { ...key, scopes: [...scopes], sha256: digest.toString('hex') }
  return { kind: 'key', id, value }
}

/** Returns a copy with other values. */
export function changed({ key, digest }: KeyEntry, changes: Partial<ApiKey>): KeyEntry {
  return { key: { ...key, ...changes }, digest }
}

export function withoutRevocation({ revokedAt: _, ...key }: ApiKey): ApiKey {
  return key
}
