// The records in Redis: one hash for each kind, a stream of changes, and a sorted set of marks. Each step is one Lua program.

import type { SendCommand } from 'sluice/redis'
import type { Change } from '../data/records.ts'
import { type FoundRecords, KINDS, type Marks, readChange, readRecords } from '../records/found-records.ts'
import { KEPT_CHANGES, KEPT_MARKS, type NumberedChange, type RecordsDatabase } from '../records/records-database.ts'
import {
  CLAIM,
  COMMIT,
  FINISH,
  FOLLOW,
  LOAD,
  LOAD_WITH_CHANGES,
  NAME_REVOKED,
  NAMED_REVOKED,
  RECORD_KEYS,
  REMOVE_NOTICE,
  UNCLAIM,
  WRITE,
  WRITE_NOTICE,
} from './records-programs.ts'
import { askRedis, redisTrouble } from './redis-answers.ts'

const FIRST_START = 'sluice:{records}:first-start'

type Flat = readonly string[]
type StreamEntry = readonly [id: string, fields: Flat]
type LoadReply = readonly [number, string, string, string, 0 | 1, Flat, Flat, Flat]
type FollowReply = readonly [number, string, string, string, 0 | 1, readonly StreamEntry[], Flat, number, number]

export function redisDatabase(send: SendCommand): RecordsDatabase {
  const ask = (command: readonly string[]): Promise<unknown> => askRedis(send, RECORD_KEYS[0], command)
  const run = (program: string, ...args: (string | number)[]): Promise<unknown> =>
    ask(['EVAL', program, String(RECORD_KEYS.length), ...RECORD_KEYS, ...args.map(String)])
  return {
    title: 'Redis',
    storesEntries: false,
    troubleOf: redisTrouble,
    async commit({ seen, mark, origin, counts, changes }) {
      const facts = [seen.last, seen.mark, mark, origin, KEPT_CHANGES, KEPT_MARKS, counts.policy, counts.key]
      const [last, found] = (await run(COMMIT, ...facts, ...writtenChanges(changes))) as [number, string]
      return last < 0 ? undefined : { last, mark, origin: found }
    },
    load: async () => readLoaded((await run(LOAD)) as LoadReply),
    async loadWithChanges() {
      const reply = (await run(LOAD_WITH_CHANGES)) as readonly [...LoadReply, readonly StreamEntry[]]
      return { ...readLoaded(reply.slice(0, -1) as unknown as LoadReply), changes: reply[8].map(readNumbered) }
    },
    async follow(seen) {
      const reply = (await run(FOLLOW, seen.last, seen.mark, seen.origin)) as FollowReply
      const [last, mark, origin, lost, isThere, entries, marks, policy, key] = reply
      const changes = entries.map((entry) => readNumbered(entry).change)
      return {
        position: { last, mark, origin },
        lost,
        isThere: isThere === 1,
        changes,
        marks: readMarks(marks),
        counts: { policy, key },
      }
    },
    writeNotice: async (notice, forMs) => String(await run(WRITE_NOTICE, notice, forMs)),
    async removeNotice(notice) {
      await run(REMOVE_NOTICE, notice)
    },
    async nameRevoked(keys, { forMs, most }) {
      await run(NAME_REVOKED, forMs, most, ...keys.flat())
    },
    async namedRevoked() {
      return [...pairsOf((await run(NAMED_REVOKED)) as Flat)].map(([id, at]) => [id, Number(at)] as const)
    },
    claim: async (claim, forMs) => (await run(CLAIM, claim, forMs)) === 1,
    async unclaim(claim) {
      await run(UNCLAIM, claim)
    },
    writeChunk: async ({ claim, forMs, chunks, changes }) =>
      (await run(WRITE, claim, forMs, chunks, ...writtenChanges(changes))) === 1,
    async finish({ claim, chunks, seen, position, counts, marks }) {
      const { last, mark, origin } = position
      const facts = [claim, seen.last, seen.mark, last, mark, origin, KEPT_MARKS, chunks, counts.policy, counts.key]
      return (await run(FINISH, ...facts, ...[...marks].flat())) === 1
    },
    claimFirstStart: async (forMs) => (await ask(['SET', FIRST_START, '1', 'NX', 'PX', String(forMs)])) === 'OK',
  }
}

function readLoaded([last, mark, origin, lost, isShort, marks, ...hashes]: LoadReply): FoundRecords {
  const written = KINDS.flatMap((kind, i) => [...pairsOf(hashes[i])].map(([id, text]) => ({ kind, id, text })))
  return { position: { last, mark, origin }, lost, isShort: isShort === 1, marks: readMarks(marks), ...readRecords(written) }
}

function readMarks(flat: Flat): Marks {
  return new Map([...pairsOf(flat)].map(([mark, last]) => [mark, Number(last)]))
}

function readNumbered([streamId, [, kind, , id, , text]]: StreamEntry): NumberedChange {
  const isWhole = id !== undefined && text !== undefined
  const change = isWhole ? readChange(KINDS[Number(kind) - 1], id, text === '' ? undefined : text) : undefined
  return { number: Number(streamId.split('-')[0]), change }
}

/** Writes changes as arguments of the Lua programs: kind, id and value of each. */
function writtenChanges(changes: readonly Change[]): string[] {
  return changes.flatMap(({ kind, id, value }) => [
    String(KINDS.indexOf(kind) + 1),
    id,
    value === undefined ? '' : JSON.stringify(value),
  ])
}

function* pairsOf(flat: Flat): Generator<readonly [string, string]> {
  for (let i = 0; i + 1 < flat.length; i += 2) yield [flat[i], flat[i + 1]]
}
