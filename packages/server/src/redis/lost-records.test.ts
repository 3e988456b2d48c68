// Redis loses records in every possible way, and instances that know different parts of them restore them.

import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type RedisServer, startRedis } from '../../../../test/servers/redis-server.mjs'
import type { Change } from '../data/records.ts'
import { CLAIM, COMMIT, FINISH, LOAD, LOAD_WITH_CHANGES, RECORD_KEYS, WRITE } from './records-programs.ts'
import { RedisConnection } from './redis-connection.ts'
import { RedisRecords } from './redis-records.ts'

let redis: RedisServer

beforeAll(async () => {
  redis = await startRedis()
})
beforeEach(async () => {
  await redis.cli('FLUSHALL')
})
afterAll(() => redis.stop())

interface Instance {
  readonly records: RedisRecords
  readonly heard: Change[]
  readonly unreadable: string[]
}

type Around = (program: string, send: () => Promise<unknown>) => Promise<unknown>

/** An instance that polls only on demand. `around` wraps its calls to Redis. */
async function instance(knows?: RedisRecords, around: Around = (_program, send) => send()): Promise<Instance> {
  const connection = new RedisConnection({ kind: 'redis', urls: [`redis://127.0.0.1:${redis.port}`] }, () => {})
  await connection.connect()
  const unreadable: string[] = []
  const records = new RedisRecords({
    send: (key, command) => around(command[1], () => connection.send(key, command)),
    onUnreadable: ({ kind, id }) => unreadable.push(`${kind} ${id}`),
  })
  const heard: Change[] = []
  if (knows?.known !== undefined) {
    const { tables, position, marks } = knows.known
    const copied = (['policy', 'key'] as const).flatMap((kind) => [...tables[kind]].map(([id, value]) => ({ kind, id, value })))
    records.loadCopy({ records: copied, position, marks })
  }
  records.watch((change) => heard.push(change))
  onTestFinished(async () => {
    await records.close()
    await connection.close()
  })
  return { records, heard, unreadable }
}

const policy = (id: string, value: unknown): Change => ({ kind: 'policy', id, value })
const key = (id: string, value: unknown): Change => ({ kind: 'key', id, value })
const ALIVE = { sha256: 'x' }
const REVOKED = { ...ALIVE, revokedAt: 7 }

/** Saves all records in Redis for a later return: an older snapshot, or a replica that lags. */
async function snapshot(): Promise<() => Promise<void>> {
  const [policies, keys, changes, marks, origin] = RECORD_KEYS
  const names = [policies, keys, changes, marks, origin]
  for (const name of names) await redis.cli('COPY', name, `old:${name}`, 'DB', 1, 'REPLACE')
  return async () => {
    await redis.cli('DEL', ...RECORD_KEYS)
    for (const name of names)
      await redis.cli('EVAL', "redis.call('SELECT', 1) redis.call('COPY', KEYS[1], ARGV[1], 'DB', 0)", 1, `old:${name}`, name)
  }
}

const tablesOf = ({ records }: Instance) => ({
  policies: Object.fromEntries(records.all('policy')),
  keys: Object.fromEntries(records.all('key')),
})

/** Returns all records, read by an instance without a copy. */
async function inRedis() {
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
  const back = await snapshot()
  await a.records.commit([key('k', REVOKED)])
  await a.records.commit([policy('p', 2), policy('gone', undefined), policy('new', 1)])
  await b.records.poll()
  return [a, b, back]
}

const WHOLE = { policies: { p: 2, new: 1 }, keys: { k: REVOKED, admin: ALIVE } }

describe.each(['FLUSHALL', 'an older snapshot', 'the stream alone', 'the keys alone'])('%s', (how) => {
  async function lose(back: () => Promise<void>): Promise<void> {
    if (how === 'FLUSHALL') await redis.cli('FLUSHALL')
    else if (how === 'an older snapshot') await back()
    else await redis.cli('DEL', how === 'the keys alone' ? RECORD_KEYS[1] : RECORD_KEYS[2])
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
    const before = await redis.cli('DBSIZE')
    expect(await a.records.restore({ dryRun: true })).toMatchObject({ isExact: true, kept: [] })
    expect(await redis.cli('DBSIZE')).toBe(before)
    expect(a.records.loss).toBeDefined()
    await restore(a)
    for (const each of [a, b]) {
      await each.records.poll()
      expect(each.records.loss).toBeUndefined()
      expect(tablesOf(each)).toEqual(WHOLE)
      expect(each.heard).toEqual([])
    }
    expect(await inRedis()).toEqual(WHOLE)
    // A number is skipped, so that programs without marks also read all records.
    expect(await redis.cli('XREVRANGE', RECORD_KEYS[2], '+', '-', 'COUNT', 1)).toMatch(/^10-0\n/)
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
    expect(await inRedis()).toEqual(WHOLE)
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
    await redis.cli('FLUSHALL')
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
    expect(Number(await redis.cli('PTTL', RECORD_KEYS[5]))).toBeGreaterThan(0)
    expect(Number(await redis.cli('PTTL', RECORD_KEYS[5]))).toBeLessThanOrEqual(10_000)
  })

  test('restores after the one that knew more is gone: only changes that the other alone knew are lost', async () => {
    const [gone, behind] = await two()
    await gone.records.commit([policy('known-by-one', 1)])
    await redis.cli('FLUSHALL')
    await gone.records.poll()
    await behind.records.poll()
    await expect(restore(behind)).rejects.toMatchObject({ code: 'ERR_RECORDS_BEHIND' })
    // Ten seconds later.
    await redis.cli('DEL', RECORD_KEYS[5])
    await behind.records.poll()
    expect(behind.records.loss).toMatchObject({ knownBy: undefined })
    await restore(behind)
    expect(behind.records.loss).toBeUndefined()
    expect(await inRedis()).toEqual(WHOLE)
  })

  test('has nothing to restore afterwards, if Redis has everything that it knows', async () => {
    const [gone, , back] = await two()
    await back()
    const behind = await instance()
    await gone.records.poll()
    await behind.records.poll()
    expect(behind.records.loss).toBeDefined()
    // Ten seconds later.
    await redis.cli('DEL', RECORD_KEYS[5])
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
    expect(await inRedis()).toEqual(merged)
  })

  test('on an empty Redis too: a first key that was created there is kept, and all instances agree', async () => {
    const [a, b] = await two()
    await redis.cli('FLUSHALL')
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

  test('with a long history: the instance that made them finds its mark afterwards', async () => {
    const a = await instance()
    await a.records.poll()
    for (let n = 0; n < 1005; n++) await a.records.commit([policy('p', n)])
    await redis.cli('FLUSHALL')
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
    expect(Number(await redis.cli('ZCARD', RECORD_KEYS[3]))).toBe(1000)
  })

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
    expect((await inRedis()).keys).toEqual({ k: REVOKED, admin: { ...ALIVE, revokedAt: 99 } })
  })

  test('more than the stream has: nothing is discarded, and revoked keys stay revoked', async () => {
    const [a, , back] = await two()
    await back()
    const other = await instance()
    await other.records.poll()
    await other.records.commit([policy('since', 1)])
    await redis.cli('XTRIM', RECORD_KEYS[2], 'MAXLEN', 0)
    await redis.cli('EVAL', "redis.call('XADD', KEYS[1], '9-0', 'kind', '1', 'id', 'since', 'value', '1')", 1, RECORD_KEYS[2])
    await a.records.poll()
    expect(await restore(a)).toMatchObject({ isExact: false })
    expect(await inRedis()).toEqual({ policies: { p: 1, gone: 1, since: 1, new: 1 }, keys: WHOLE.keys })
  })

  test('a policy with the patterns of a lost one replaces it', async () => {
    const a = await instance()
    await a.records.poll()
    await a.records.commit([policy('old', { client: 'acme', route: '*' })])
    await redis.cli('FLUSHALL')
    const other = await instance()
    await other.records.poll()
    await other.records.commit([policy('young', { client: 'acme', route: '*' })])
    await a.records.poll()
    await restore(a)
    expect(Object.keys((await inRedis()).policies)).toEqual(['young'])
  })
})

describe('two that restore at once', () => {
  test('while one restores, the other waits', async () => {
    const [a] = await two()
    await redis.cli('FLUSHALL')
    await a.records.poll()
    await redis.cli('SET', RECORD_KEYS[6], 'another', 'PX', 10_000)
    await expect(restore(a)).rejects.toMatchObject({ code: 'ERR_CONFLICT' })
    expect(await redis.cli('EXISTS', RECORD_KEYS[0])).toBe('0')
  })

  test('the later one has nothing to do', async () => {
    const [a, b] = await two()
    await redis.cli('FLUSHALL')
    let isDone = false
    const late = await instance(b.records, async (program, send) => {
      if (program === CLAIM && !isDone) {
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
    await redis.cli('FLUSHALL')
    await Promise.all([a.records.poll(), b.records.poll()])
    const results = await Promise.allSettled([restore(a), restore(b)])
    const done = results.filter((result) => result.status === 'fulfilled' && result.value !== undefined)
    expect(done).toHaveLength(1)
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'ERR_CONFLICT' })
    }
    expect(await inRedis()).toEqual(WHOLE)
  })

  test('and know different branches restore both, one after the other', async () => {
    const [a, , back] = await two()
    await back()
    const branch = await instance()
    await branch.records.poll()
    await branch.records.commit([policy('branch', 1), policy('b2', 1), policy('b3', 1), policy('b4', 1), policy('b5', 1)])
    await redis.cli('FLUSHALL')
    await branch.records.poll()
    await a.records.poll()
    await expect(restore(a)).rejects.toMatchObject({ code: 'ERR_RECORDS_BEHIND' })
    await restore(branch)
    await a.records.poll()
    expect(a.records.loss).toBeDefined()
    await restore(a)
    const all = await inRedis()
    expect(all.keys).toEqual(WHOLE.keys)
    expect(all.policies).toMatchObject({ branch: 1, new: 1 })
    await branch.records.poll()
    expect(branch.records.loss).toBeUndefined()
    expect(tablesOf(branch)).toEqual(all)
  })
})

describe('a loss in the middle', () => {
  /** Calls a function once, before the first run of a program. */
  const once = (wanted: string, strike: () => Promise<unknown>): Around => {
    let isDone = false
    return async (program, send) => {
      if (program === wanted && !isDone) {
        isDone = true
        await strike()
      }
      return send()
    }
  }

  test('while reading all records: the earlier reply of Redis does not count', async () => {
    const [a] = await two()
    const reader = await instance(
      a.records,
      once(LOAD, () => redis.cli('FLUSHALL')),
    )
    await reader.records.poll()
    expect(reader.records.loss).toMatchObject({ known: 8, found: 0 })
    expect(tablesOf(reader)).toEqual(WHOLE)
  })

  test('during a commit: the commit is refused, and nothing is written', async () => {
    const [a] = await two()
    const writer = await instance(
      a.records,
      once(COMMIT, () => redis.cli('FLUSHALL')),
    )
    await writer.records.poll()
    await expect(writer.records.commit([policy('x', 1)])).rejects.toMatchObject({ code: 'ERR_RECORDS_LOST' })
    expect(tablesOf(writer)).toEqual(WHOLE)
    expect(await redis.cli('EXISTS', RECORD_KEYS[0])).toBe('0')
  })

  test.each([
    ['before the plan', LOAD_WITH_CHANGES],
    ['before the records', WRITE],
    ['before the end', FINISH],
  ])('during a restore, %s: the restore can be repeated', async (_when, program) => {
    const [a, , back] = await two()
    const restorer = await instance(
      a.records,
      once(program, () => redis.cli('FLUSHDB')),
    )
    await back()
    await restorer.records.poll()
    await restore(restorer).catch((error) => expect(error).toMatchObject({ code: 'ERR_CONFLICT' }))
    await restorer.records.poll()
    if (restorer.records.loss !== undefined) await restore(restorer)
    expect(await inRedis()).toEqual(WHOLE)
  })

  test('during a restore, a change of another instance: it is not overwritten', async () => {
    const [a, , back] = await two()
    const other = await instance()
    const restorer = await instance(
      a.records,
      once(FINISH, async () => {
        await redis.cli('DEL', RECORD_KEYS[5])
        await other.records.commit([policy('since', 1)])
      }),
    )
    await back()
    await other.records.poll()
    await restorer.records.poll()
    await expect(restore(restorer)).rejects.toMatchObject({ code: 'ERR_CONFLICT' })
    await restore(restorer)
    expect(await inRedis()).toEqual({ ...WHOLE, policies: { ...WHOLE.policies, since: 1 } })
  })

  test('during a restore, its last reply: it is found to be done', async () => {
    const [a] = await two()
    await redis.cli('FLUSHALL')
    let isCut = false
    const restorer = await instance(a.records, async (program, send) => {
      const answer = await send()
      if (program !== FINISH || isCut) return answer
      isCut = true
      throw new Error('the connection was cut')
    })
    await restorer.records.poll()
    await expect(restore(restorer)).rejects.toMatchObject({ code: 'ERR_DATA_WRITE' })
    expect(await restore(restorer)).toBeUndefined()
    expect(restorer.records.loss).toBeUndefined()
    expect(await inRedis()).toEqual(WHOLE)
  })
})

test('a copy of version 1, which has no position, is compared with Redis as far as possible', async () => {
  const [, b] = await two()
  const position = { last: 1, mark: '', origin: '' }
  const records = [policy('p', 1), policy('gone', 1), key('k', REVOKED)]
  const fine = await instance()
  fine.records.loadCopy({ records, position, marks: new Map() })
  await fine.records.poll()
  expect(fine.records.loss).toBeUndefined()
  expect(tablesOf(fine)).toEqual(tablesOf(b))
  await redis.cli('FLUSHALL')
  const lost = await instance()
  lost.records.loadCopy({ records, position, marks: new Map() })
  await lost.records.poll()
  expect(lost.records.loss).toMatchObject({ found: 0 })
  await restore(lost)
  expect(await inRedis()).toEqual({ policies: { p: 1, gone: 1 }, keys: { k: REVOKED } })
})

test('a restore of more records than fit into one command', async () => {
  const a = await instance()
  await a.records.poll()
  await a.records.commit(Array.from({ length: 1201 }, (_, n) => policy(`p${n}`, n)))
  await redis.cli('FLUSHALL')
  await a.records.poll()
  await restore(a)
  expect(Object.keys((await inRedis()).policies)).toHaveLength(1201)
})

test('a Redis that has everything again, without a restore, is used again', async () => {
  const [a] = await two()
  const back = await snapshot()
  await redis.cli('FLUSHDB')
  await a.records.poll()
  expect(a.records.loss).toBeDefined()
  await back()
  await a.records.poll()
  expect(a.records.loss).toBeUndefined()
  await a.records.commit([policy('x', 1)])
})

test('an instance that finds everything again removes its notice, and others can make changes immediately', async () => {
  const [a, b] = await two()
  await redis.cli('RENAME', RECORD_KEYS[1], 'elsewhere')
  await a.records.poll()
  await expect(b.records.commit([policy('x', 1)])).rejects.toMatchObject({ code: 'ERR_RECORDS_LOST' })
  await redis.cli('RENAME', 'elsewhere', RECORD_KEYS[1])
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
  expect((await redis.cli('HKEYS', RECORD_KEYS[0])).split('\n').toSorted()).toEqual(['branch', 'gone', 'p'])
})

test('a revocation that Redis lost unnoticed is written again', async () => {
  const [a] = await two()
  const reader = await instance(a.records)
  await redis.cli('HSET', RECORD_KEYS[1], 'k', JSON.stringify(ALIVE))
  const started = reader.records.start()
  await started
  expect(reader.records.all('key').get('k')).toEqual(REVOKED)
  await expect.poll(async () => (await inRedis()).keys.k, { timeout: 10_000 }).toEqual(REVOKED)
})

describe('records from before marks existed', () => {
  async function unmarked(): Promise<void> {
    await redis.cli('HSET', RECORD_KEYS[0], 'p', '1')
    await redis.cli('HSET', RECORD_KEYS[1], 'admin', JSON.stringify(ALIVE))
    for (const n of [1, 2]) await redis.cli('XADD', RECORD_KEYS[2], `${n}-0`, 'kind', '1', 'id', 'p', 'value', '1')
  }

  test('are read, changed, and missed if they are lost', async () => {
    await unmarked()
    const a = await instance()
    await a.records.poll()
    expect(tablesOf(a)).toEqual({ policies: { p: 1 }, keys: { admin: ALIVE } })
    await redis.cli('FLUSHALL')
    await a.records.poll()
    expect(a.records.loss).toBeDefined()
    await restore(a)
    expect(await inRedis()).toEqual({ policies: { p: 1 }, keys: { admin: ALIVE } })
  })

  test('are followed while a program of that version still runs beside this one', async () => {
    await unmarked()
    const a = await instance()
    await a.records.poll()
    await a.records.commit([policy('mine', 1)])
    await redis.cli('HSET', RECORD_KEYS[0], 'theirs', '1')
    await redis.cli('XADD', RECORD_KEYS[2], '4-0', 'kind', '1', 'id', 'theirs', 'value', '1')
    await a.records.poll()
    expect(a.records.loss).toBeUndefined()
    await a.records.commit([policy('mine', 2)])
    expect(tablesOf(a).policies).toEqual({ p: 1, mine: 2, theirs: 1 })
  })
})

describe('a record that cannot be read', () => {
  test('is reported once and blocks nothing; all other records are usable', async () => {
    const [a] = await two()
    await redis.cli('HSET', RECORD_KEYS[0], 'p', '{"bad')
    await redis.cli('HSET', RECORD_KEYS[1], 'bad-key', 'not json')
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
    await redis.cli('XADD', RECORD_KEYS[2], '9-0', 'kind', '9', 'id', 'x', 'value', '{')
    await a.records.poll()
    expect(a.records.loss).toBeUndefined()
    await a.records.commit([policy('x', 1)])
    expect(tablesOf(a).policies).toEqual({ ...WHOLE.policies, x: 1 })
  })
})
