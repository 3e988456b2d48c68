// Writes the records that an instance knows to a Redis that lost them.
// Invariant: of several instances that restore at once, one does. An interrupted restore has written only correct records and can be
// repeated. A finished restore has all its records in Redis: if Redis loses any of them meanwhile, the restore fails.

import { randomBytes } from 'node:crypto'
import { ServerError } from '../errors.ts'
import {
  countOf,
  type FoundRecords,
  KINDS,
  type KnownRecords,
  type LoadReply,
  type Marks,
  numberOfChange,
  type Position,
  readChange,
  readLoaded,
  type StreamEntry,
  writtenChanges,
} from './found-records.ts'
import { CLAIM, FINISH, KEPT_MARKS, LOAD_WITH_CHANGES, UNCLAIM, WRITE } from './records-programs.ts'
import { planRestore, type RestorePlan } from './restore-plan.ts'

/** Lifetime of the claim. Each chunk renews it. An instance that takes longer is considered dead. */
const CLAIM_MS = 10_000

/** Records that are written at a time. Redis serves other commands in between. */
const RECORDS_A_CHUNK = 500

export type RunProgram = (program: string, ...args: string[]) => Promise<unknown>

export interface PlannedRestore {
  readonly plan: RestorePlan
  readonly found: FoundRecords
  /** Number of the last change that both have; undefined if unknown. */
  readonly forkedAt: number | undefined
  /** True if Redis has everything that the instance knows. */
  readonly isThere: boolean
}

/** Reads Redis and plans a restore. */
export async function planFor(known: KnownRecords, run: RunProgram): Promise<PlannedRestore> {
  const reply = (await run(LOAD_WITH_CHANGES)) as readonly [...LoadReply, readonly StreamEntry[]]
  const found = readLoaded(reply.slice(0, -1) as unknown as LoadReply)
  const forkedAt = lastInCommon(known, found)
  const plan = planRestore(known.tables, found.tables, changesSince(forkedAt, found, reply[8]))
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
 * Returns undefined if Redis has everything. Throws ERR_CONFLICT if another instance restores, or if Redis changes meanwhile. The plan
 * is made under the claim, so it contains no unfinished restore of another instance.
 */
export async function restoreKnown(known: KnownRecords, run: RunProgram): Promise<Restored | undefined> {
  const claim = makeMark()
  if ((await run(CLAIM, claim, String(CLAIM_MS))) !== 1) throw conflict()
  try {
    const planned = await planFor(known, run)
    return planned.isThere ? undefined : await restoreAsPlanned(known, planned, claim, run)
  } finally {
    // If this fails, the claim expires.
    await run(UNCLAIM, claim).catch(() => {})
  }
}

async function restoreAsPlanned(
  known: KnownRecords,
  { plan, found, forkedAt }: PlannedRestore,
  claim: string,
  run: RunProgram,
): Promise<Restored> {
  let chunks = 0
  for (; chunks * RECORDS_A_CHUNK < plan.changes.length; chunks++) {
    const chunk = plan.changes.slice(chunks * RECORDS_A_CHUNK, (chunks + 1) * RECORDS_A_CHUNK)
    if ((await run(WRITE, claim, String(CLAIM_MS), String(chunks), ...writtenChanges(chunk))) !== 1) throw conflict()
  }
  const { last, mark, origin } = found.position
  // Two above any known change. The gap makes every instance read all records.
  const position = {
    last: Math.max(last, known.position.last) + 2,
    mark: makeMark(),
    origin: known.position.origin || origin || makeMark(),
  }
  const since = [...found.marks].filter(([, at]) => at > (forkedAt ?? 0)).map(([each]) => [each, position.last - 1] as const)
  const marks = new Map([...known.marks, ...since])
  const listed = [...marks].flatMap(([each, at]) => [each, String(at)])
  const counts = KINDS.map((kind) => countOf(kind, plan.tables, found.unreadable))
  const args = [claim, last, mark, position.last, position.mark, position.origin, KEPT_MARKS, chunks, ...counts, ...listed]
  if ((await run(FINISH, ...args.map(String))) !== 1) throw conflict()
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
  // Only changes from before marks existed have no marks. So Redis returned to an earlier state, and nothing was added since.
  return found.marks.size === 0 ? last : undefined
}

/** Returns the changes in Redis after `forkedAt`, or undefined if the stream no longer has all of them. */
function changesSince(forkedAt: number | undefined, { position }: FoundRecords, entries: readonly StreamEntry[]) {
  if (forkedAt === undefined) return undefined
  const since = entries.filter((entry) => numberOfChange(entry) > forkedAt).map(readChange)
  const isWhole = since.length === position.last - forkedAt && since.every((change) => change !== undefined)
  return isWhole ? since : undefined
}

function conflict(): ServerError {
  return new ServerError('ERR_CONFLICT', 'another instance restores, or Redis changed at the same moment: check the state again')
}
