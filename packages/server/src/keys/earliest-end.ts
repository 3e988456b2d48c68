// Merges two versions of one API key. Invariant: a key that was revoked or shortened once stays so.

/** Returns `record` with the earlier revocation and expiry of the two. Returns the same object if nothing changes. */
export function withEarliestEnd(record: unknown, other: unknown): unknown {
  if (!isRecord(record) || !isRecord(other)) return record
  const revokedAt = earliest(record.revokedAt, other.revokedAt)
  const expiresAt = earliest(record.expiresAt, other.expiresAt)
  if (revokedAt === record.revokedAt && expiresAt === record.expiresAt) return record
  return { ...record, ...(revokedAt !== undefined && { revokedAt }), ...(expiresAt !== undefined && { expiresAt }) }
}

function earliest(a: unknown, b: unknown): unknown {
  if (typeof a !== 'number') return typeof b === 'number' ? b : a
  return typeof b === 'number' ? Math.min(a, b) : a
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
