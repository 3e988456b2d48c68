// All records are read in pages, while other instances make changes.

import type { SendCommand } from 'sluice/redis'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type RedisServer, startRedis } from '../../../../../test/servers/redis-server.mjs'
import type { Change } from '../../records.ts'
import { SharedRecords } from '../records/shared-records.ts'
import { RECORD_KEYS } from './records-programs.ts'
import { RedisConnection } from './redis-connection.ts'
import { redisDatabase } from './redis-database.ts'

const policy = (id: string, value: unknown): Change => ({ kind: 'policy', id, value })

let redis: RedisServer
let connection: RedisConnection

beforeAll(async () => {
  redis = await startRedis()
  connection = new RedisConnection({ kind: 'redis', urls: [`redis://127.0.0.1:${redis.port}`] }, () => {})
  await connection.connect()
})
beforeEach(async () => {
  await redis.cli('FLUSHALL')
})
afterAll(async () => {
  await connection.close()
  await redis.stop()
})

/** An instance that has written this many policies. */
async function writer(count: number): Promise<SharedRecords> {
  const records = new SharedRecords({ database: redisDatabase(connection.send) })
  await records.poll()
  for (let at = 0; at < count; at += 1000) {
    await records.commit(Array.from({ length: Math.min(1000, count - at) }, (_, i) => policy(`p${at + i}`, at + i)))
  }
  return records
}

/** A database that calls `strike` after each page of policies, with the number of the page. */
function struck(strike: (page: number) => Promise<unknown>) {
  let page = 0
  const send: SendCommand = async (key, command) => {
    const reply = await connection.send(key, command)
    if (command[0] === 'HSCAN' && command[1] === RECORD_KEYS[0]) {
      page += 1
      await strike(page)
    }
    return reply
  }
  return redisDatabase(send)
}

test('no reply has more than a page, and all records are there', async () => {
  await writer(12_000)
  let longest = 0
  const commands = new Set<string>()
  const send: SendCommand = async (key, command) => {
    const reply = await connection.send(key, command)
    if (command[0] === 'HSCAN') longest = Math.max(longest, (reply as [string, string[]])[1].length / 2)
    commands.add(command.join(' '))
    return reply
  }
  const { tables, position } = await redisDatabase(send).load()
  expect([tables.policy.size, tables.policy.get('p11999'), position.last]).toEqual([12_000, 11_999, 12_000])
  expect(longest).toBeGreaterThan(500)
  expect(longest).toBeLessThan(1200)
  expect([...commands].filter((command) => command.includes('HGETALL'))).toEqual([])
})

describe('changes between two pages', () => {
  test('are in the result, which has the state of its position', async () => {
    const other = await writer(5000)
    const loaded = await struck(async (page) => {
      if (page === 1) {
        const gone = Array.from({ length: 50 }, (_, i) => policy(`p${i * 100}`, undefined))
        const changed = Array.from({ length: 50 }, (_, i) => policy(`p${i * 100 + 1}`, 'changed'))
        await other.commit([...gone, ...changed, policy('new', 1), { kind: 'key', id: 'k', value: 2 }])
      }
      if (page === 3) await other.commit([policy('p0', 'again'), policy('new', undefined)])
    }).load()
    const { tables, position } = other.known ?? {}
    expect(Object.fromEntries(loaded.tables.policy)).toEqual(Object.fromEntries(tables?.policy ?? []))
    expect(Object.fromEntries(loaded.tables.key)).toEqual({ k: 2 })
    expect(loaded.position).toEqual(position)
    expect(loaded.marks.has(position?.mark ?? '')).toBe(true)
  })

  test('that the stream does not have any more: everything is read again', async () => {
    const other = await writer(3000)
    const loaded = await struck(async (page) => {
      if (page !== 1) return
      await other.commit(Array.from({ length: 3000 }, (_, n) => policy('many', n)))
      await redis.cli('XTRIM', RECORD_KEYS[2], 'MAXLEN', 5)
    }).load()
    expect([loaded.tables.policy.size, loaded.tables.policy.get('many'), loaded.position.last]).toEqual([3001, 2999, 6000])
  })

  test('that no list has: everything is read again', async () => {
    await writer(3000)
    const loaded = await struck(async (page) => {
      if (page === 1) await redis.cli('HDEL', RECORD_KEYS[0], ...Array.from({ length: 100 }, (_, i) => `p${i}`))
    }).load()
    expect([loaded.tables.policy.size, loaded.isShort]).toEqual([2900, true])
  })

  test('that come all the time, more than the stream has: an error, after three attempts', async () => {
    const other = await writer(2000)
    let pages = 0
    const load = struck(async () => {
      pages += 1
      await other.commit(Array.from({ length: 2 }, (_, n) => policy('many', n)))
      await redis.cli('XTRIM', RECORD_KEYS[2], 'MAXLEN', 1)
    }).load()
    await expect(load).rejects.toMatchObject({ code: 'ERR_DATA_WRITE', message: expect.stringContaining('3 times') })
    expect(pages).toBeLessThan(12)
  })
})
