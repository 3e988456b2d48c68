// Redis loses records again during a restore, or a part of them: no instance takes the rest for complete.

import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type RedisServer, startRedis } from '../../../../test/servers/redis-server.mjs'
import type { Change } from '../data/records.ts'
import { CLAIM, FINISH, RECORD_KEYS, WRITE } from './records-programs.ts'
import { RedisConnection } from './redis-connection.ts'
import { RedisRecords } from './redis-records.ts'

/** Number of records for a restore of three chunks. */
const POLICIES = 1500

const [POLICY_HASH, , , , , , RESTORING] = RECORD_KEYS

let redis: RedisServer

beforeAll(async () => {
  redis = await startRedis()
})
beforeEach(async () => {
  await redis.cli('FLUSHALL')
})
afterAll(() => redis.stop())

/** Called before each run of a program, with the program and the number of its earlier runs. */
type Before = (program: string, runs: number) => Promise<unknown> | undefined

/** An instance that polls only on demand. */
async function instance(before: Before = () => undefined): Promise<RedisRecords> {
  const connection = new RedisConnection({ kind: 'redis', urls: [`redis://127.0.0.1:${redis.port}`] }, () => {})
  await connection.connect()
  const runs = new Map<string, number>()
  const records = new RedisRecords({
    send: async (key, command) => {
      const count = runs.get(command[1]) ?? 0
      runs.set(command[1], count + 1)
      await before(command[1], count)
      return connection.send(key, command)
    },
  })
  onTestFinished(async () => {
    await records.close()
    await connection.close()
  })
  await records.poll()
  return records
}

const policy = (id: string, value: unknown): Change => ({ kind: 'policy', id, value })
const restore = (records: RedisRecords) => records.restore({ dryRun: false })
const fill = (records: RedisRecords) => records.commit(Array.from({ length: POLICIES }, (_, n) => policy(`p${n}`, n)))

async function loseAll(...instances: RedisRecords[]): Promise<void> {
  await redis.cli('FLUSHALL')
  for (const each of instances) {
    await each.poll()
    expect(each.loss).toBeDefined()
  }
}

/** Restores from any instance that may, until nothing is lost. Then all instances have all records. */
async function expectAllBack(...instances: RedisRecords[]): Promise<void> {
  for (let round = 0; round < 4; round++) {
    for (const each of instances) {
      await each.poll()
      expect(each.all('policy').size).toBe(POLICIES)
    }
    for (const each of instances) if (each.loss !== undefined) await restore(each).catch(() => {})
  }
  for (const each of [...instances, await instance()]) {
    expect(each.loss).toBeUndefined()
    expect(each.all('policy').size).toBe(POLICIES)
  }
  expect(Number(await redis.cli('HLEN', POLICY_HASH))).toBe(POLICIES)
}

describe('a second loss while two instances restore', () => {
  test('the second does not use an unfinished restore of the first: all records are restored', async () => {
    let second: Promise<unknown> | undefined
    const b = await instance((program, runs) => (program === CLAIM && runs === 0 ? redis.cli('FLUSHALL') : undefined))
    const a = await instance((program, runs) => {
      if (program !== WRITE || runs !== 1) return undefined
      second = restore(b)
      return second.catch(() => {})
    })
    await fill(a)
    await b.poll()
    await loseAll(a, b)
    await expect(restore(a)).rejects.toMatchObject({ code: 'ERR_CONFLICT' })
    await second
    await expectAllBack(a, b)
  })

  test('an instance whose restore was lost, and whose records another has restored, goes on', async () => {
    const [a, b] = [await instance(), await instance()]
    await fill(a)
    await b.poll()
    await loseAll(a, b)
    await restore(a)
    await loseAll(b)
    await restore(b)
    await a.poll()
    expect(a.loss).toBeUndefined()
    await a.commit([policy('p0', 'again')])
    await b.poll()
    expect(b.loss).toBeUndefined()
    expect(b.all('policy').get('p0')).toBe('again')
  })
})

describe('a restore of which Redis loses', () => {
  test('a record before its end fails, and can be repeated', async () => {
    const a = await instance((program, runs) =>
      program === FINISH && runs === 0 ? redis.cli('HDEL', POLICY_HASH, 'p7') : undefined,
    )
    await fill(a)
    await loseAll(a)
    await expect(restore(a)).rejects.toMatchObject({ code: 'ERR_CONFLICT' })
    await a.poll()
    expect(a.loss).toBeDefined()
    await expectAllBack(a)
  })

  test('one chunk, with the claim as it was before: fails, and can be repeated', async () => {
    const a = await instance(async (program, runs) => {
      if (program !== WRITE || runs > 1) return
      // A replica that had the claim, but not the chunk after it, takes over.
      if (runs === 0) await redis.cli('COPY', RESTORING, 'replica')
      else {
        await redis.cli('COPY', `old:${POLICY_HASH}`, POLICY_HASH, 'REPLACE')
        await redis.cli('RENAME', 'replica', RESTORING)
      }
    })
    await fill(a)
    const names = RECORD_KEYS.slice(0, 5)
    for (const name of names) await redis.cli('COPY', name, `old:${name}`)
    await a.commit(Array.from({ length: POLICIES }, (_, n) => policy(`p${n}`, -1)))
    for (const name of names) await redis.cli('COPY', `old:${name}`, name, 'REPLACE')
    await a.poll()
    await expect(restore(a)).rejects.toMatchObject({ code: 'ERR_CONFLICT' })
    await expectAllBack(a)
    expect(new Set((await redis.cli('HVALS', POLICY_HASH)).split('\n'))).toEqual(new Set(['-1']))
  })
})

describe('records that are missing', () => {
  test('after a restore: an instance that reads all records again keeps those that it knows', async () => {
    const [a, b] = [await instance(), await instance()]
    await fill(a)
    await b.poll()
    await loseAll(a, b)
    await restore(a)
    await redis.cli('HDEL', POLICY_HASH, 'p7')
    await b.poll()
    expect(b.loss).toBeDefined()
    await expectAllBack(b, a)
  })

  test('a commit based on them is refused, and changes nothing', async () => {
    const a = await instance()
    await fill(a)
    await redis.cli('HDEL', POLICY_HASH, 'p7')
    await expect(a.commit([policy('new', 1)])).rejects.toMatchObject({ code: 'ERR_RECORDS_LOST' })
    expect(await redis.cli('HEXISTS', POLICY_HASH, 'new')).toBe('0')
    await expectAllBack(a)
  })
})
