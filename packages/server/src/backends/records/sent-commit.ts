// Sends a commit, and sends it again if the answer of the database was lost.
// Invariant: a request is made at most once, however often it is sent. It names the position that the instance has seen, and the commit
// moves the position. So the answer to a repeated request is certain: it was made now, or it will not be made any more.

import { setTimeout as pause } from 'node:timers/promises'
import { messageOf, ServerError } from '../../errors.ts'
import type { Position } from './found-records.ts'
import type { CommitRequest, RecordsDatabase } from './records-database.ts'

/** Time for repeated requests. A connection that was lost is made again meanwhile. */
const REPEAT_MS = 2000

const PAUSE_MS = 100

export interface SentCommit {
  /** The new position; undefined if nothing was written by the last request. */
  readonly position: Position | undefined
  /** The error of a lost answer, if there was one. Without a position, an earlier request may have been made: its mark tells. */
  readonly lost: unknown
}

/** Throws ERR_DATA_UNKNOWN if an answer was lost, and the database cannot be asked. */
export async function sendCommit(database: RecordsDatabase, request: CommitRequest): Promise<SentCommit> {
  let lost: unknown
  let endMs = 0
  for (;;) {
    try {
      return { position: await database.commit(request), lost }
    } catch (error) {
      if (lost === undefined) {
        if (!isUnknown(error)) throw error
        lost = error
        endMs = performance.now() + REPEAT_MS
      } else if (performance.now() >= endMs) throw unknownOutcome(database, lost)
    }
    await pause(PAUSE_MS)
  }
}

/** The error for a change whose answer was lost, if the database cannot be asked. */
export function unknownOutcome({ title }: RecordsDatabase, lost: unknown): ServerError {
  const message = `the answer of ${title} was lost, so the change may have been made: look before you repeat it (${messageOf(lost)})`
  return new ServerError('ERR_DATA_UNKNOWN', message, { cause: lost instanceof ServerError ? lost.cause : lost })
}

function isUnknown(error: unknown): boolean {
  return error instanceof ServerError && error.code === 'ERR_DATA_UNKNOWN'
}
