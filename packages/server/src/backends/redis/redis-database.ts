// The records in Redis: one hash for each kind, a stream of changes, and a sorted set of marks. Each step is one Lua program, except
// reading all records.

import type { SendCommand } from 'sluice/redis'
import { KEPT_ENTRIES } from '../../audit/audit-entry.ts'
import { DAY_MS, KEEP_DAYS } from '../../audit/audit-trail.ts'
import type { Change } from '../../records.ts'
import { KINDS } from '../records/found-records.ts'
import { KEPT_CHANGES, KEPT_MARKS, type RecordsDatabase } from '../records/records-database.ts'
import { type FollowReply, loadRecords, loadWithChanges } from './load-records.ts'
import {
  CHANGES_LOG,
  CLAIM,
  COMMIT,
  FINISH,
  FOLLOW,
  NAME_REVOKED,
  NAMED_REVOKED,
  RECORD_KEYS,
  REMOVE_NOTICE,
  UNCLAIM,
  WRITE,
  WRITE_NOTICE,
} from './records-programs.ts'
import { type Flat, pairsOf, readMarks, readNumbered } from './records-replies.ts'
import { askRedis, orUnknown, redisTrouble } from './redis-answers.ts'
import { writtenEntry } from './redis-audit-log.ts'

export function redisDatabase(send: SendCommand): RecordsDatabase {
  const ask = (command: readonly string[]): Promise<unknown> => askRedis(send, RECORD_KEYS[0], command)
  const runOn = (keys: readonly string[], program: string, args: readonly (string | number)[]): Promise<unknown> =>
    ask(['EVAL', program, String(keys.length), ...keys, ...args.map(String)])
  const run = (program: string, ...args: (string | number)[]): Promise<unknown> => runOn(RECORD_KEYS, program, args)
  return {
    title: 'Redis',
    troubleOf: redisTrouble,
    async commit({ seen, mark, origin, counts, changes, entry }) {
      const facts = [seen.last, seen.mark, mark, origin, KEPT_CHANGES, KEPT_MARKS, counts.policy, counts.key]
      const log = [entry === undefined ? '' : writtenEntry(entry), KEPT_ENTRIES.changes, KEEP_DAYS.changes * DAY_MS]
      const args = [...facts, ...log, ...writtenChanges(changes)]
      const made = await runOn([...RECORD_KEYS, CHANGES_LOG], COMMIT, args).catch(orUnknown)
      const [last, found] = made as [number, string]
      return last < 0 ? undefined : { last, mark, origin: found }
    },
    load: () => loadRecords({ ask, run }),
    loadWithChanges: () => loadWithChanges({ ask, run }),
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
  }
}

/** Writes changes as arguments of the Lua programs: kind, id and value of each. */
function writtenChanges(changes: readonly Change[]): string[] {
  return changes.flatMap(({ kind, id, value }) => [
    String(KINDS.indexOf(kind) + 1),
    id,
    value === undefined ? '' : JSON.stringify(value),
  ])
}
