// Writes the records that an instance knows to a database that lost them.
// Invariant: of several instances that restore at once, one does. An interrupted restore has written only correct records and can be
// repeated. A finished restore has all its records in the database: if it loses any of them meanwhile, the restore fails.

import { randomBytes } from 'node:crypto'
import { ServerError } from '../../errors.ts'
import { countOf, type FoundRecords, type KnownRecords, type Marks, type Position } from './found-records.ts'
import type { Counts, FoundWithChanges, RecordsDatabase } from './records-database.ts'
import { planRestore, type RestorePlan } from './restore-plan.ts'

/** Lifetime of the claim. Each chunk renews it. An instance that takes longer is considered dead. */
const CLAIM_MS = 10_000

/** Records that are written at a time. The database serves others in between. */
const RECORDS_A_CHUNK = 500

export interface PlannedRestore {
  readonly plan: RestorePlan
  readonly found: FoundRecords
  /** Number of the last change that both have; undefined if unknown. */
  readonly forkedAt: number | undefined
  /** True if the database has everything that the instance knows. */
  readonly isThere: boolean
}

/** Reads the database and plans a restore. */
export async function planFor(known: KnownRecords, database: RecordsDatabase): Promise<PlannedRestore> {
  const found = await database.loadWithChanges()
  const forkedAt = lastInCommon(known, found)
  const plan = planRestore(known.tables, found.tables, changesSince(forkedAt, found))
  const { last, mark } = known.position
  const hasMark = mark === '' || found.marks.has(mark)
  return { found, forkedAt, plan, isThere: hasMark && found.position.last >= last && plan.changes.length === 0 }
}

export interface Restored {
  readonly plan: RestorePlan
  /** The position of the instance after the restore. */
  readonly position: Position
  readonly marks: Marks
}

/**
 * Returns undefined if the database has everything. Throws ERR_CONFLICT if another instance restores, or if records change meanwhile. The
 * plan is made under the claim, so it contains no unfinished restore of another instance.
 */
export async function restoreKnown(known: KnownRecords, database: RecordsDatabase): Promise<Restored | undefined> {
  const claim = makeMark()
  if (!(await database.claim(claim, CLAIM_MS))) throw conflict(database)
  try {
    const planned = await planFor(known, database)
    return planned.isThere ? undefined : await restoreAsPlanned(known, planned, claim, database)
  } finally {
    // If this fails, the claim expires.
    await database.unclaim(claim).catch(() => {})
  }
}

async function restoreAsPlanned(
  known: KnownRecords,
  { plan, found, forkedAt }: PlannedRestore,
  claim: string,
  database: RecordsDatabase,
): Promise<Restored> {
  let chunks = 0
  for (; chunks * RECORDS_A_CHUNK < plan.changes.length; chunks++) {
    const changes = plan.changes.slice(chunks * RECORDS_A_CHUNK, (chunks + 1) * RECORDS_A_CHUNK)
    if (!(await database.writeChunk({ claim, forMs: CLAIM_MS, chunks, changes }))) throw conflict(database)
  }
  const { last, origin } = found.position
  // Two above any known change. The gap makes every instance read all records.
  const position = {
    last: Math.max(last, known.position.last) + 2,
    mark: makeMark(),
    origin: known.position.origin || origin || makeMark(),
  }
  const since = [...found.marks].filter(([, at]) => at > (forkedAt ?? 0)).map(([each]) => [each, position.last - 1] as const)
  const marks = new Map([...known.marks, ...since])
  const counts: Counts = {
    policy: countOf('policy', plan.tables, found.unreadable),
    key: countOf('key', plan.tables, found.unreadable),
  }
  const isFinished = await database.finish({ claim, chunks, seen: found.position, position, counts, marks })
  if (!isFinished) throw conflict(database)
  return { plan, position, marks: marks.set(position.mark, position.last) }
}

/** Creates a text that no other commit has. */
export function makeMark(): string {
  return randomBytes(9).toString('base64url')
}

function lastInCommon({ marks, position }: KnownRecords, found: FoundRecords): number | undefined {
  const { last, origin } = found.position
  if (last === 0) return 0
  const common = [...found.marks].filter(([mark]) => marks.has(mark)).map(([, at]) => at)
  if (common.length > 0) return Math.max(...common)
  if (origin !== '' && origin !== position.origin) return 0
  // Only changes from before marks existed have no marks. So the database returned to an earlier state, and nothing was added since.
  return found.marks.size === 0 ? last : undefined
}

/** Returns the changes in the database after `forkedAt`, or undefined if it no longer has all of them. */
function changesSince(forkedAt: number | undefined, { position, changes }: FoundWithChanges) {
  if (forkedAt === undefined) return undefined
  const since = changes.filter(({ number }) => number > forkedAt).map(({ change }) => change)
  const isWhole = since.length === position.last - forkedAt && since.every((change) => change !== undefined)
  return isWhole ? since : undefined
}

function conflict({ title }: RecordsDatabase): ServerError {
  return new ServerError(
    'ERR_CONFLICT',
    `another instance restores, or ${title} changed at the same moment: check the state again`,
  )
}
