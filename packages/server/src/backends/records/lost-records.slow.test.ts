// A database loses records in every possible way, and instances that know different parts of them restore them.

import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { roundsOf } from '../../../../../test/rounds.ts'
import { DATABASE_NAMES, openConnected, TEST_DATABASES, type TestDatabase } from '../../../test/databases/test-database.ts'
import { type Around, type Step, wrappedSteps } from '../../../test/databases/wrapped-steps.ts'
import { ServerError } from '../../errors.ts'
import type { Change } from '../../records.ts'
import { SharedRecords } from './shared-records.ts'

interface Instance {
  readonly records: SharedRecords
  readonly heard: Change[]
  readonly unreadable: string[]
}

const policy = (id: string, value: unknown): Change => ({ kind: 'policy', id, value })
const key = (id: string, value: unknown): Change => ({ kind: 'key', id, value })
const ALIVE = { sha256: 'x' }
const REVOKED = { ...ALIVE, revokedAt: 7 }

describe.each(DATABASE_NAMES)('%s', (name) => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await TEST_DATABASES[name]()
  })
  beforeEach(() => database.clear())
  afterAll(() => database.stop())

  /** An instance that polls only on demand. `around` wraps its steps in the database. */
  async function instance(knows?: SharedRecords, around: Around = (_step, send) => send()): Promise<Instance> {
    const opened = await openConnected(database)
    const unreadable: string[] = []
    const records = new SharedRecords({
      database: wrappedSteps(opened.records, around),
      onUnreadable: ({ kind, id }) => unreadable.push(`${kind} ${id}`),
    })
    const heard: Change[] = []
    if (knows?.known !== undefined) {
      const { tables, position, marks } = knows.known
      const copied = (['policy', 'key'] as const).flatMap((kind) => [...tables[kind]].map(([id, value]) => ({ kind, id, value })))
      records.loadCopy({ records: copied, position, marks })
    }
    records.watch((change) => heard.push(change))
    onTestFinished(() => records.close())
    return { records, heard, unreadable }
  }

  const tablesOf = ({ records }: Instance) => ({
    policies: Object.fromEntries(records.all('policy')),
    keys: Object.fromEntries(records.all('key')),
  })

  /** Returns all records, read by an instance without a copy. */
  async function stored() {
    const fresh = await instance()
    await fresh.records.poll()
    expect(fresh.records.loss).toBeUndefined()
    return tablesOf(fresh)
  }

  const restore = ({ records }: Instance) => records.restore({ dryRun: false })

  /** Two instances that have seen a changed policy, a deleted policy and a revoked key. */
  async function two(): Promise<readonly [Instance, Instance, () => Promise<void>]> {
    const [a, b] = [await instance(), await instance()]
    await a.records.poll()
    await a.records.commit([policy('p', 1), policy('gone', 1), key('k', ALIVE), key('admin', ALIVE)])
    const back = await database.snapshot()
    await a.records.commit([key('k', REVOKED)])
    await a.records.commit([policy('p', 2), policy('gone', undefined), policy('new', 1)])
    await b.records.poll()
    return [a, b, back]
  }

  const WHOLE = { policies: { p: 2, new: 1 }, keys: { k: REVOKED, admin: ALIVE } }

  describe.each(['everything', 'an older snapshot', 'the list of changes alone', 'the keys alone'])('%s', (how) => {
    async function lose(back: () => Promise<void>): Promise<void> {
      if (how === 'everything') await database.clear()
      else if (how === 'an older snapshot') await back()
      else await database.remove(how === 'the keys alone' ? 'keys' : 'changes')
    }

    test('is noticed: every instance keeps what it knows, no instance makes changes, and one command restores the records', async () => {
      const [a, b, back] = await two()
      a.heard.length = 0
      b.heard.length = 0
      await lose(back)
      for (const each of [a, b]) {
        await each.records.poll()
        expect(each.records.loss).toMatchObject({ known: 8, knownBy: undefined })
        expect(tablesOf(each)).toEqual(WHOLE)
        await expect(each.records.commit([policy('x', 1)])).rejects.toMatchObject({ code: 'ERR_RECORDS_LOST' })
      }
      const before = await database.count('all')
      expect(await a.records.restore({ dryRun: true })).toMatchObject({ isExact: true, kept: [] })
      expect(await database.count('all')).toBe(before)
      expect(a.records.loss).toBeDefined()
      await restore(a)
      for (const each of [a, b]) {
        await each.records.poll()
        expect(each.records.loss).toBeUndefined()
        expect(tablesOf(each)).toEqual(WHOLE)
        expect(each.heard).toEqual([])
      }
      expect(await stored()).toEqual(WHOLE)
      // A number is skipped, so that programs without marks also read all records.
      expect(await database.lastChange()).toBe(10)
      await b.records.commit([policy('x', 1)])
      await a.records.poll()
      expect(a.records.all('policy').get('x')).toBe(1)
      expect(await restore(a)).toBeUndefined()
    })

    test('is noticed by an instance that starts with its copy', async () => {
      const [a, , back] = await two()
      await lose(back)
      const again = await instance(a.records)
      await again.records.poll()
      expect(again.records.loss).toMatchObject({ known: 8 })
      expect(tablesOf(again)).toEqual(WHOLE)
      await restore(again)
      expect(await stored()).toEqual(WHOLE)
    })
  })

  test('a dry run reports the records to write, revoke, remove and keep', async () => {
    const [a, , back] = await two()
    const ahead = await instance(a.records)
    await back()
    const other = await instance()
    await other.records.poll()
    await other.records.commit([policy('since', 1), key('made-since', ALIVE)])
    await ahead.records.poll()
    expect(await ahead.records.restore({ dryRun: true })).toMatchObject({
      written: [policy('p', 0), policy('new', 0), key('k', 0)].map(({ kind, id }) => ({ kind, id })),
      revoked: [{ kind: 'key', id: 'k' }],
      removed: [{ kind: 'policy', id: 'gone' }],
      kept: [
        { kind: 'policy', id: 'since' },
        { kind: 'key', id: 'made-since' },
      ],
      isExact: true,
    })
  })

  describe('an instance that knows less', () => {
    test('learns of the loss from one that knows more, makes no changes, and cannot restore', async () => {
      const [a, , back] = await two()
      await back()
      const behind = await instance()
      await behind.records.poll()
      expect(behind.records.loss).toBeUndefined()
      await a.records.poll()
      await expect(behind.records.commit([policy('x', 1)])).rejects.toMatchObject({ code: 'ERR_RECORDS_LOST' })
      expect(behind.records.loss).toMatchObject({ knownBy: expect.stringMatching(`process ${process.pid} on .*, since 20`) })
      await expect(restore(behind)).rejects.toMatchObject({
        code: 'ERR_RECORDS_BEHIND',
        message: expect.stringContaining(`restore from process ${process.pid} on`),
      })
      await restore(a)
      await behind.records.poll()
      expect(behind.records.loss).toBeUndefined()
      expect(tablesOf(behind)).toEqual(WHOLE)
    })

    test('and knows nothing waits, and creates no first key, until the records are restored', async () => {
      const [a] = await two()
      await database.clear()
      await a.records.poll()
      const fresh = await instance()
      await fresh.records.poll()
      expect(fresh.records).toMatchObject({ isRead: false, known: undefined, loss: { known: 0 } })
      await expect(fresh.records.commit([key('first-admin', ALIVE)])).rejects.toMatchObject({ code: 'ERR_RECORDS_LOST' })
      let hasStarted = false
      const started = fresh.records.start().then(() => {
        hasStarted = true
      })
      await a.records.poll()
      expect(hasStarted).toBe(false)
      await restore(a)
      await started
      expect(tablesOf(fresh)).toEqual(WHOLE)
    })

    test('is not blocked forever by one that is gone', async () => {
      const [a, , back] = await two()
      await back()
      await a.records.poll()
      expect(await database.noticeMs()).toBeGreaterThan(0)
      expect(await database.noticeMs()).toBeLessThanOrEqual(10_000)
    })

    test('restores after the one that knew more is gone: only changes that the other alone knew are lost', async () => {
      const [gone, behind] = await two()
      await gone.records.commit([policy('known-by-one', 1)])
      await database.clear()
      await gone.records.poll()
      await behind.records.poll()
      await expect(restore(behind)).rejects.toMatchObject({ code: 'ERR_RECORDS_BEHIND' })
      // Ten seconds later.
      await database.remove('notice')
      await behind.records.poll()
      expect(behind.records.loss).toMatchObject({ knownBy: undefined })
      await restore(behind)
      expect(behind.records.loss).toBeUndefined()
      expect(await stored()).toEqual(WHOLE)
    })

    test('has nothing to restore afterwards, if the database has everything that it knows', async () => {
      const [gone, , back] = await two()
      await back()
      const behind = await instance()
      await gone.records.poll()
      await behind.records.poll()
      expect(behind.records.loss).toBeDefined()
      // Ten seconds later.
      await database.remove('notice')
      await behind.records.poll()
      expect(behind.records.loss).toBeUndefined()
    })
  })

  describe('changes after the loss', () => {
    test('by an instance that did not know of it are kept, and the number of changes does not hide the loss', async () => {
      const [a, , back] = await two()
      await back()
      const other = await instance()
      await other.records.poll()
      // A higher number than the first instance has seen.
      for (let n = 1; n <= 6; n++) await other.records.commit([policy('p', 100 + n)])
      await other.records.commit([policy('gone', undefined), key('later', ALIVE)])
      await a.records.poll()
      expect(a.records.loss).toMatchObject({ known: 8, found: 12 })
      expect(a.records.all('key').get('k')).toEqual(REVOKED)
      await restore(a)
      const merged = { policies: { p: 106, new: 1 }, keys: { k: REVOKED, admin: ALIVE, later: ALIVE } }
      for (const each of [a, other]) {
        await each.records.poll()
        expect(each.records.loss).toBeUndefined()
        expect(tablesOf(each)).toEqual(merged)
      }
      expect(await stored()).toEqual(merged)
    })

    test('on an empty database too: a first key that was created there is kept, and all instances agree', async () => {
      const [a, b] = await two()
      await database.clear()
      const stranger = await instance()
      await stranger.records.poll()
      await stranger.records.commit([key('first-admin', ALIVE)])
      await a.records.poll()
      await restore(a)
      const merged = { ...WHOLE, keys: { ...WHOLE.keys, 'first-admin': ALIVE } }
      for (const each of [a, b, stranger]) {
        await each.records.poll()
        expect(each.records.loss).toBeUndefined()
        expect(tablesOf(each)).toEqual(merged)
      }
    })

    // A thousand commits take long in PostgreSQL. Its statements are those of SQLite.
    test.runIf(name !== 'postgres' || roundsOf({ usual: 0, long: 1 }) > 0)(
      'with a long history: the instance that made them finds its mark afterwards',
      async () => {
        const a = await instance()
        await a.records.poll()
        for (let n = 0; n < 1005; n++) await a.records.commit([policy('p', n)])
        await database.clear()
        const stranger = await instance()
        await stranger.records.poll()
        await stranger.records.commit([key('first-admin', ALIVE)])
        await a.records.poll()
        await restore(a)
        for (const each of [stranger, a]) {
          await each.records.poll()
          expect(each.records.loss).toBeUndefined()
          expect(tablesOf(each)).toEqual({ policies: { p: 1004 }, keys: { 'first-admin': ALIVE } })
        }
        expect(await database.count('marks')).toBe(1000)
      },
    )

    test('a key that was revoked after the loss is refused immediately by instances that know more', async () => {
      const [a, , back] = await two()
      await back()
      const other = await instance()
      await other.records.poll()
      await other.records.commit([key('admin', { ...ALIVE, revokedAt: 99 })])
      await a.records.poll()
      expect(a.records.loss).toBeDefined()
      expect(a.records.all('key').get('admin')).toEqual({ ...ALIVE, revokedAt: 99 })
      await restore(a)
      expect((await stored()).keys).toEqual({ k: REVOKED, admin: { ...ALIVE, revokedAt: 99 } })
    })

    test('more than the stream has: nothing is discarded, and revoked keys stay revoked', async () => {
      const [a, , back] = await two()
      await back()
      const other = await instance()
      await other.records.poll()
      await other.records.commit([policy('since', 1)])
      await database.remove('changes')
      await database.addChange(9, 1, 'since', '1')
      await a.records.poll()
      expect(await restore(a)).toMatchObject({ isExact: false })
      expect(await stored()).toEqual({ policies: { p: 1, gone: 1, since: 1, new: 1 }, keys: WHOLE.keys })
    })

    test('a policy with the patterns of a lost one replaces it', async () => {
      const a = await instance()
      await a.records.poll()
      await a.records.commit([policy('old', { client: 'acme', route: '*' })])
      await database.clear()
      const other = await instance()
      await other.records.poll()
      await other.records.commit([policy('young', { client: 'acme', route: '*' })])
      await a.records.poll()
      await restore(a)
      expect(Object.keys((await stored()).policies)).toEqual(['young'])
    })
  })

  describe('two that restore at once', () => {
    test('while one restores, the other waits', async () => {
      const [a] = await two()
      await database.clear()
      await a.records.poll()
      await (await openConnected(database)).records.claim('another', 10_000)
      await expect(restore(a)).rejects.toMatchObject({ code: 'ERR_CONFLICT' })
      expect(await database.ids('policy')).toEqual([])
    })

    test('the later one has nothing to do', async () => {
      const [a, b] = await two()
      await database.clear()
      let isDone = false
      const late = await instance(b.records, async (step, send) => {
        if (step === 'claim' && !isDone) {
          isDone = true
          await restore(a)
        }
        return send()
      })
      await late.records.poll()
      expect(await restore(late)).toBeUndefined()
      expect(late.records.loss).toBeUndefined()
      expect(tablesOf(late)).toEqual(WHOLE)
    })

    test('restore once', async () => {
      const [a, b] = await two()
      await database.clear()
      await Promise.all([a.records.poll(), b.records.poll()])
      const results = await Promise.allSettled([restore(a), restore(b)])
      const done = results.filter((result) => result.status === 'fulfilled' && result.value !== undefined)
      expect(done).toHaveLength(1)
      for (const result of results) {
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'ERR_CONFLICT' })
      }
      expect(await stored()).toEqual(WHOLE)
    })

    test('and know different branches restore both, one after the other', async () => {
      const [a, , back] = await two()
      await back()
      const branch = await instance()
      await branch.records.poll()
      await branch.records.commit([policy('branch', 1), policy('b2', 1), policy('b3', 1), policy('b4', 1), policy('b5', 1)])
      await database.clear()
      await branch.records.poll()
      await a.records.poll()
      await expect(restore(a)).rejects.toMatchObject({ code: 'ERR_RECORDS_BEHIND' })
      await restore(branch)
      await a.records.poll()
      expect(a.records.loss).toBeDefined()
      await restore(a)
      const all = await stored()
      expect(all.keys).toEqual(WHOLE.keys)
      expect(all.policies).toMatchObject({ branch: 1, new: 1 })
      await branch.records.poll()
      expect(branch.records.loss).toBeUndefined()
      expect(tablesOf(branch)).toEqual(all)
    })
  })

  describe('a loss in the middle', () => {
    /** Calls a function once, before the first run of a step. */
    const once = (wanted: Step, strike: () => Promise<unknown>): Around => {
      let isDone = false
      return async (step, send) => {
        if (step === wanted && !isDone) {
          isDone = true
          await strike()
        }
        return send()
      }
    }

    test('while reading all records: the earlier answer does not count', async () => {
      const [a] = await two()
      const reader = await instance(
        a.records,
        once('load', () => database.clear()),
      )
      await reader.records.poll()
      expect(reader.records.loss).toMatchObject({ known: 8, found: 0 })
      expect(tablesOf(reader)).toEqual(WHOLE)
    })

    test('during a commit: the commit is refused, and nothing is written', async () => {
      const [a] = await two()
      const writer = await instance(
        a.records,
        once('commit', () => database.clear()),
      )
      await writer.records.poll()
      await expect(writer.records.commit([policy('x', 1)])).rejects.toMatchObject({ code: 'ERR_RECORDS_LOST' })
      expect(tablesOf(writer)).toEqual(WHOLE)
      expect(await database.ids('policy')).toEqual([])
    })

    test.each([
      ['before the plan', 'loadWithChanges'],
      ['before the records', 'writeChunk'],
      ['before the end', 'finish'],
    ] as const)('during a restore, %s: the restore can be repeated', async (_when, step) => {
      const [a, , back] = await two()
      const restorer = await instance(
        a.records,
        once(step, () => database.clear()),
      )
      await back()
      await restorer.records.poll()
      await restore(restorer).catch((error) => expect(error).toMatchObject({ code: 'ERR_CONFLICT' }))
      await restorer.records.poll()
      if (restorer.records.loss !== undefined) await restore(restorer)
      expect(await stored()).toEqual(WHOLE)
    })

    test('during a restore, a change of another instance: it is not overwritten', async () => {
      const [a, , back] = await two()
      const other = await instance()
      const restorer = await instance(
        a.records,
        once('finish', async () => {
          await database.remove('notice')
          await other.records.commit([policy('since', 1)])
        }),
      )
      await back()
      await other.records.poll()
      await restorer.records.poll()
      await expect(restore(restorer)).rejects.toMatchObject({ code: 'ERR_CONFLICT' })
      await restore(restorer)
      expect(await stored()).toEqual({ ...WHOLE, policies: { ...WHOLE.policies, since: 1 } })
    })

    test('during a restore, its last reply: it is found to be done', async () => {
      const [a] = await two()
      await database.clear()
      let isCut = false
      const restorer = await instance(a.records, async (step, send) => {
        const answer = await send()
        if (step !== 'finish' || isCut) return answer
        isCut = true
        throw new ServerError('ERR_DATA_WRITE', 'the connection was cut')
      })
      await restorer.records.poll()
      await expect(restore(restorer)).rejects.toMatchObject({ code: 'ERR_DATA_WRITE' })
      expect(await restore(restorer)).toBeUndefined()
      expect(restorer.records.loss).toBeUndefined()
      expect(await stored()).toEqual(WHOLE)
    })
  })

  test('a copy of version 1, which has no position, is compared with the database as far as possible', async () => {
    const [, b] = await two()
    const position = { last: 1, mark: '', origin: '' }
    const records = [policy('p', 1), policy('gone', 1), key('k', REVOKED)]
    const fine = await instance()
    fine.records.loadCopy({ records, position, marks: new Map() })
    await fine.records.poll()
    expect(fine.records.loss).toBeUndefined()
    expect(tablesOf(fine)).toEqual(tablesOf(b))
    await database.clear()
    const lost = await instance()
    lost.records.loadCopy({ records, position, marks: new Map() })
    await lost.records.poll()
    expect(lost.records.loss).toMatchObject({ found: 0 })
    await restore(lost)
    expect(await stored()).toEqual({ policies: { p: 1, gone: 1 }, keys: { k: REVOKED } })
  })

  test('a restore of more records than fit into one command', async () => {
    const a = await instance()
    await a.records.poll()
    await a.records.commit(Array.from({ length: 1201 }, (_, n) => policy(`p${n}`, n)))
    await database.clear()
    await a.records.poll()
    await restore(a)
    expect(Object.keys((await stored()).policies)).toHaveLength(1201)
  })

  test('a database that has everything again, without a restore, is used again', async () => {
    const [a] = await two()
    const back = await database.snapshot()
    await database.clear()
    await a.records.poll()
    expect(a.records.loss).toBeDefined()
    await back()
    await a.records.poll()
    expect(a.records.loss).toBeUndefined()
    await a.records.commit([policy('x', 1)])
  })

  test('an instance that finds everything again removes its notice, and others can make changes immediately', async () => {
    const [a, b] = await two()
    await database.remove('keys')
    await a.records.poll()
    await expect(b.records.commit([policy('x', 1)])).rejects.toMatchObject({ code: 'ERR_RECORDS_LOST' })
    for (const [id, value] of Object.entries(WHOLE.keys)) await database.write('key', id, JSON.stringify(value))
    await a.records.poll()
    await b.records.poll()
    await a.records.poll()
    await b.records.poll()
    await b.records.commit([policy('x', 1)])
  })

  test('a commit on another branch of the same length is refused', async () => {
    const [a, , back] = await two()
    await back()
    const other = await instance()
    await other.records.poll()
    await other.records.commit([1, 2, 3, 4].map((n) => policy('branch', n)))
    await expect(a.records.commit([policy('x', 1)])).rejects.toMatchObject({ code: 'ERR_RECORDS_LOST' })
    expect(a.records.loss).toMatchObject({ known: 8, found: 8 })
    expect((await database.ids('policy')).toSorted()).toEqual(['branch', 'gone', 'p'])
  })

  test('a revocation that was lost unnoticed is written again', async () => {
    const [a] = await two()
    const reader = await instance(a.records)
    await database.write('key', 'k', JSON.stringify(ALIVE))
    const started = reader.records.start()
    await started
    expect(reader.records.all('key').get('k')).toEqual(REVOKED)
    await expect.poll(async () => (await stored()).keys.k, { timeout: 10_000 }).toEqual(REVOKED)
  })

  describe.runIf(name === 'redis')('records from before marks existed', () => {
    async function unmarked(): Promise<void> {
      await database.write('policy', 'p', '1')
      await database.write('key', 'admin', JSON.stringify(ALIVE))
      for (const n of [1, 2]) await database.addChange(n, 1, 'p', '1')
    }

    test('are read, changed, and missed if they are lost', async () => {
      await unmarked()
      const a = await instance()
      await a.records.poll()
      expect(tablesOf(a)).toEqual({ policies: { p: 1 }, keys: { admin: ALIVE } })
      await database.clear()
      await a.records.poll()
      expect(a.records.loss).toBeDefined()
      await restore(a)
      expect(await stored()).toEqual({ policies: { p: 1 }, keys: { admin: ALIVE } })
    })

    test('are followed while a program of that version still runs beside this one', async () => {
      await unmarked()
      const a = await instance()
      await a.records.poll()
      await a.records.commit([policy('mine', 1)])
      await database.write('policy', 'theirs', '1')
      await database.addChange(4, 1, 'theirs', '1')
      await a.records.poll()
      expect(a.records.loss).toBeUndefined()
      await a.records.commit([policy('mine', 2)])
      expect(tablesOf(a).policies).toEqual({ p: 1, mine: 2, theirs: 1 })
    })
  })

  describe('a record that cannot be read', () => {
    test('is reported once and blocks nothing; all other records are usable', async () => {
      const [a] = await two()
      await database.write('policy', 'p', '{"bad')
      await database.write('key', 'bad-key', 'not json')
      const fresh = await instance()
      await fresh.records.poll()
      await fresh.records.poll()
      expect(fresh.unreadable).toEqual(['policy p', 'key bad-key'])
      expect(tablesOf(fresh)).toEqual({ policies: { new: 1 }, keys: WHOLE.keys })
      // The known policy stays in force; the key is refused.
      await a.records.poll()
      expect(tablesOf(a)).toEqual(WHOLE)
      expect(a.records.loss).toBeUndefined()
      await fresh.records.commit([policy('p', 3), key('bad-key', undefined)])
      await fresh.records.poll()
      expect(fresh.records.unreadable).toEqual([])
      expect(fresh.records.loss).toBeUndefined()
    })

    test('nor an invalid change in the stream', async () => {
      const [a] = await two()
      await database.addChange(9, 9, 'x', '{')
      await a.records.poll()
      expect(a.records.loss).toBeUndefined()
      await a.records.commit([policy('x', 1)])
      expect(tablesOf(a).policies).toEqual({ ...WHOLE.policies, x: 1 })
    })
  })
})
