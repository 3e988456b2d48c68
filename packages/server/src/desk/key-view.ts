// An API key as the audit log and the HTTP API show it.

import type { ApiKey } from '../keys/key-ring.ts'

export function keyView({ id, name, scopes, createdAt, expiresAt, revokedAt, lastUsedAt }: ApiKey) {
  return {
    id,
    name,
    scopes,
    created_at: new Date(createdAt).toISOString(),
    expires_at: time(expiresAt),
    revoked_at: time(revokedAt),
    last_used_at: time(lastUsedAt),
  }
}

function time(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}
