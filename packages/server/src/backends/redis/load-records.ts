// Reads all records from Redis in pages, so that no command takes long, however many records there are.
// Invariant: the result is the state of one moment. Pages are read one after the other, and others may make changes meanwhile. These are
// in the list of changes, and are applied to what the pages had. If the list lacks some, everything is read again.

import { ServerError } from '../../errors.ts'
import { type FoundRecords, KINDS, type Marks, readRecords } from '../records/found-records.ts'
import type { FoundWithChanges } from '../records/records-database.ts'
import { CHANGES, FOLLOW, RECORD_KEYS, START } from './records-programs.ts'
import { type Flat, pairsOf, readMarks, readNumbered, type StreamEntry } from './records-replies.ts'

/** Number of records in a page, about. */
const RECORDS_A_PAGE = 1000

const TRIES = 3

/** Commands for the records. All of their keys are on one node. */
export interface RecordsCommands {
  ask(command: readonly string[]): Promise<unknown>
  /** Executes a Lua program. */
  run(program: string, ...args: (string | number)[]): Promise<unknown>
}

export type FollowReply = readonly [number, string, string, string, 0 | 1, readonly StreamEntry[], Flat, number, number, 0 | 1]

type StartReply = readonly [last: number, mark: string, origin: string, marks: Flat]
type ChangesReply = readonly [last: number, mark: string, entries: readonly StreamEntry[]]

/** The texts of the records of each kind, by id. The order is that of `KINDS`. */
type Texts = readonly Map<string, string>[]

/** Throws ERR_DATA_WRITE if records change all the time. */
export async function loadRecords(commands: RecordsCommands): Promise<FoundRecords> {
  for (let tries = 0; tries < TRIES; tries++) {
    const [last, mark, origin, marks] = (await commands.run(START)) as StartReply
    const texts: Map<string, string>[] = []
    for (const i of KINDS.keys()) texts.push(await readPages(commands, RECORD_KEYS[i]))
    const found = joined(texts, last, readMarks(marks), (await commands.run(FOLLOW, last, mark, origin)) as FollowReply)
    if (found !== undefined) return found
  }
  throw changesAllTheTime()
}

export async function loadWithChanges(commands: RecordsCommands): Promise<FoundWithChanges> {
  for (let tries = 0; tries < TRIES; tries++) {
    const found = await loadRecords(commands)
    const [last, mark, entries] = (await commands.run(CHANGES)) as ChangesReply
    const isSame = last === found.position.last && mark === found.position.mark
    if (isSame) return { ...found, changes: entries.map(readNumbered) }
  }
  throw changesAllTheTime()
}

async function readPages({ ask }: RecordsCommands, key: string): Promise<Map<string, string>> {
  const texts = new Map<string, string>()
  let cursor = '0'
  do {
    const reply = (await ask(['HSCAN', key, cursor, 'COUNT', String(RECORDS_A_PAGE)])) as readonly [string, Flat]
    for (const [id, text] of pairsOf(reply[1])) texts.set(id, text)
    cursor = String(reply[0])
  } while (cursor !== '0')
  return texts
}

/** Applies the changes since the pages were begun. Returns undefined if some of them are missing. */
function joined(texts: Texts, startedAt: number, before: Marks, end: FollowReply): FoundRecords | undefined {
  const [last, mark, origin, lost, isThere, entries, marks, policies, keys, isShort] = end
  if (isThere !== 1 || entries.length !== last - startedAt || !entries.every((entry) => apply(texts, entry))) return undefined
  if (texts[0].size !== policies || texts[1].size !== keys) return undefined
  const written = KINDS.flatMap((kind, i) => Array.from(texts[i], ([id, text]) => ({ kind, id, text })))
  return {
    position: { last, mark, origin },
    lost,
    isShort: isShort === 1,
    marks: new Map([...before, ...readMarks(marks)]),
    ...readRecords(written),
  }
}

/** Applies a change. Returns false if it is not one of a record. */
function apply(texts: Texts, [, [, kind, , id, , text]]: StreamEntry): boolean {
  const table = texts[Number(kind) - 1]
  if (table === undefined || id === undefined || text === undefined) return false
  if (text === '') table.delete(id)
  else table.set(id, text)
  return true
}

function changesAllTheTime(): ServerError {
  return new ServerError('ERR_DATA_WRITE', `the records in Redis changed each of ${TRIES} times while they were read`)
}
