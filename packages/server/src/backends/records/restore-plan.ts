// Merges two states of the records: the one that an instance knows, and the one of a database that lost a part of it.
// Invariant: a key that is revoked in either state is revoked. A change after the loss stands. Everything else is as the instance
// knows it, so a policy that was deleted before the loss stays deleted.

import { withEarliestEnd } from '../../keys/earliest-end.ts'
import type { Change, RecordKind } from '../../records.ts'
import { differences, emptyTables, KINDS, type Tables } from './found-records.ts'

/** A record by kind and id. */
export interface RecordName {
  readonly kind: RecordKind
  readonly id: string
}

export interface RestorePlan {
  /** The merged records. */
  readonly tables: Tables
  /** The changes that the database needs. */
  readonly changes: readonly Change[]
  /** Records that the database lacks or has in an earlier form. */
  readonly written: readonly RecordName[]
  /** The keys among `written` that are revoked and that the database would accept. */
  readonly revoked: readonly RecordName[]
  /** Records in the database that were deleted before the loss, or whose patterns a policy from after the loss has taken. */
  readonly removed: readonly RecordName[]
  /** Records that were changed after the loss. They are not overwritten. */
  readonly kept: readonly RecordName[]
  /** False if the changes after the loss are not all known. Then every record in the database counts as changed. */
  readonly isExact: boolean
}

/** `since` has the changes after the loss; undefined if they are not all known. */
export function planRestore(known: Tables, found: Tables, since: readonly Change[] | undefined): RestorePlan {
  const tables = emptyTables()
  const kept: RecordName[] = []
  for (const kind of KINDS) {
    const touched = since && new Set(since.filter((change) => change.kind === kind).map(({ id }) => id))
    for (const id of new Set([...known[kind].keys(), ...found[kind].keys()])) {
      const [ours, theirs] = [known[kind].get(id), found[kind].get(id)]
      const isSince = touched?.has(id) ?? theirs !== undefined
      if (isSince) kept.push({ kind, id })
      const [value, other] = isSince ? [theirs, ours] : [ours, theirs]
      if (value !== undefined) tables[kind].set(id, kind === 'key' ? withEarliestEnd(value, other) : value)
    }
  }
  giveWay(tables.policy, new Set(kept.filter(({ kind }) => kind === 'policy').map(({ id }) => id)))
  const changes = KINDS.flatMap((kind) => differences(kind, found[kind], tables[kind]))
  const named = (wanted: (change: Change) => boolean) => changes.filter(wanted).map(({ kind, id }) => ({ kind, id }))
  return {
    tables,
    changes,
    written: named(({ value }) => value !== undefined),
    revoked: named(({ kind, id, value }) => kind === 'key' && isRevoked(value) && isValid(found.key.get(id))),
    removed: named(({ value }) => value === undefined),
    kept,
    isExact: since !== undefined,
  }
}

/** Adds revocations that are written after the plan. */
export function withRevoked(plan: RestorePlan, owed: readonly { readonly change: Change }[]): RestorePlan {
  const names = owed.map(({ change: { kind, id } }) => ({ kind, id }))
  const others = names.filter(({ id }) => !plan.written.some((name) => name.kind === 'key' && name.id === id))
  return { ...plan, written: [...plan.written, ...others], revoked: [...plan.revoked, ...names] }
}

/** No two policies may have the same patterns: a restored policy is dropped if a policy from after the loss has its patterns. */
function giveWay(policies: Map<string, unknown>, kept: ReadonlySet<string>): void {
  const taken = new Set([...policies].filter(([id]) => kept.has(id)).map(([id, value]) => patternsOf(id, value)))
  for (const [id, value] of policies) if (!kept.has(id) && taken.has(patternsOf(id, value))) policies.delete(id)
}

/** Returns a text that only policies with the same patterns share. */
function patternsOf(id: string, value: unknown): string {
  const { client, route } = (value ?? {}) as { client?: unknown; route?: unknown }
  return JSON.stringify(typeof client === 'string' && typeof route === 'string' ? [client, route] : [id])
}

function isRevoked(value: unknown): boolean {
  return (value as { revokedAt?: unknown } | undefined)?.revokedAt !== undefined
}

function isValid(value: unknown): boolean {
  return value !== undefined && !isRevoked(value)
}
