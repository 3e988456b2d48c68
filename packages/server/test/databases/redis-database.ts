// A Redis server for tests.

import { type RedisServer, startRedis } from '../../../../test/servers/redis-server.mjs'
import { RECORD_KEYS } from '../../src/backends/redis/records-programs.ts'
import type { RecordKind } from '../../src/records.ts'
import type { Part, Return, TestDatabase } from './test-database.ts'

const [POLICIES, KEYS, CHANGES, MARKS, ORIGIN, NOTICE, CLAIM] = RECORD_KEYS

const FLEET = 'sluice:{records}:fleet'

const PARTS: Readonly<Record<Part, string>> = { policies: POLICIES, keys: KEYS, changes: CHANGES, notice: NOTICE }

const hashOf = (kind: RecordKind): string => (kind === 'policy' ? POLICIES : KEYS)

/** Copies of the keys are in another database of the server. */
const COPY_AWAY = `
redis.call('SELECT', 1) redis.call('FLUSHDB') redis.call('SELECT', 0)
for _, name in ipairs(KEYS) do redis.call('COPY', name, name, 'DB', 1) end`

const COPY_BACK = `
redis.call('DEL', unpack(KEYS))
redis.call('SELECT', 1)
for _, name in ipairs(KEYS) do redis.call('COPY', name, name, 'DB', 0) end`

export class RedisDatabase implements TestDatabase {
  readonly title = 'Redis'
  readonly server: RedisServer

  private constructor(server: RedisServer) {
    this.server = server
  }

  static async start({ isDurable = false } = {}): Promise<RedisDatabase> {
    return new RedisDatabase(await startRedis(...(isDurable ? ['--appendonly', 'yes', '--appendfsync', 'always'] : [])))
  }

  get store(): string {
    return `redis://127.0.0.1:${this.server.port}`
  }

  async clear(): Promise<void> {
    await this.server.cli('FLUSHDB')
  }

  async snapshot(): Promise<Return> {
    const names = [POLICIES, KEYS, CHANGES, MARKS, ORIGIN]
    await this.server.cli('EVAL', COPY_AWAY, names.length, ...names)
    return async (part) => {
      const returned = part === undefined ? RECORD_KEYS : [POLICIES]
      await this.server.cli('EVAL', COPY_BACK, returned.length, ...returned)
    }
  }

  async snapshotClaim(): Promise<Return> {
    await this.server.cli('COPY', CLAIM, 'saved-claim', 'REPLACE')
    return async () => {
      await this.server.cli('COPY', 'saved-claim', CLAIM, 'REPLACE')
    }
  }

  async removeRecord(kind: RecordKind, id: string): Promise<void> {
    await this.server.cli('HDEL', hashOf(kind), id)
  }

  async remove(part: Part): Promise<void> {
    await this.server.cli('DEL', PARTS[part])
  }

  async write(kind: RecordKind, id: string, text: string): Promise<void> {
    await this.server.cli('HSET', hashOf(kind), id, text)
  }

  async addChange(number: number, kind: number, id: string, text: string): Promise<void> {
    await this.server.cli('XADD', CHANGES, `${number}-0`, 'kind', kind, 'id', id, 'value', text)
  }

  async ids(kind: RecordKind): Promise<readonly string[]> {
    return (await this.server.cli('HKEYS', hashOf(kind))).split('\n').filter((id) => id !== '')
  }

  async count(what: 'marks' | 'all'): Promise<number> {
    return Number(await (what === 'marks' ? this.server.cli('ZCARD', MARKS) : this.server.cli('DBSIZE')))
  }

  async lastChange(): Promise<number> {
    return Number.parseInt(await this.server.cli('XREVRANGE', CHANGES, '+', '-', 'COUNT', 1), 10)
  }

  async noticeMs(): Promise<number> {
    return Number(await this.server.cli('PTTL', NOTICE))
  }

  async ageFleet(id: string, ms: number): Promise<void> {
    const older = `local text = redis.call('HGET', KEYS[1], ARGV[1])
local at = string.match(text, '^%d+')
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', tonumber(at) - ARGV[2]) .. string.sub(text, #at + 1))`
    await this.server.cli('EVAL', older, 1, FLEET, id, ms)
  }

  async fleetIds(): Promise<readonly string[]> {
    return (await this.server.cli('HKEYS', FLEET)).split('\n').filter((id) => id !== '')
  }

  kill(): Promise<void> {
    return this.server.kill()
  }

  start(): Promise<void> {
    return this.server.start()
  }

  stop(): Promise<void> {
    return this.server.stop()
  }
}
