// The last key with the scope admin: it is not revoked by accident, on one instance or on several, and it can be replaced if it is lost.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fakeClock } from 'sluice/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type RedisServer, startRedis } from '../../../test/servers/redis-server.mjs'
import { sluice, startSluice } from '../../../test/servers/sluice-service.mjs'
import { Journal } from '../src/backends/folder/journal.ts'
import { SharedRecords } from '../src/backends/records/shared-records.ts'
import { RECORD_KEYS } from '../src/backends/redis/records-programs.ts'
import { RedisConnection } from '../src/backends/redis/redis-connection.ts'
import { redisDatabase } from '../src/backends/redis/redis-database.ts'
import { KeyRing } from '../src/keys/key-ring.ts'
import { startService } from './running-service.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { keyDesk } from './test-desk.ts'

const admin = (name: string) => ({ name, scopes: ['admin' as const] })
const isLast = { code: 'ERR_KEY_LAST', status: 409 }

describe('one instance', () => {
  async function ringIn(folder: string, isOurs = async () => true) {
    const clock = fakeClock()
    const journal = await Journal.open(folder, { isOurs })
    const ring = new KeyRing(journal, clock.now)
    const desk = keyDesk(journal, ring)
    onTestFinished(async () => {
      await desk.close().catch(() => {})
      await journal.close()
    })
    return { ring, desk, clock, journal }
  }

  test('keeps the last admin key valid, unless force is given', async () => {
    const { ring, desk, journal } = await ringIn(temporaryFolder())
    await desk.create({ name: 'shop', scopes: ['check', 'read'] })
    const { key, secret } = await desk.create(admin('only'))
    await expect(desk.revoke(key.id)).rejects.toMatchObject(isLast)
    expect(ring.verify(secret)).toMatchObject({ id: key.id })
    expect(journal.all('key').get(key.id)).not.toHaveProperty('revokedAt')
    await desk.revoke(key.id, { force: true })
    expect(ring.verify(secret)).toBeUndefined()
    // Revoking a revoked key again is harmless.
    await expect(desk.revoke(key.id)).resolves.toMatchObject({ id: key.id })
  })

  test('counts only valid admin keys: not expired, not revoked', async () => {
    const { desk, clock } = await ringIn(temporaryFolder())
    const brief = await desk.create({ ...admin('brief'), expiresAt: clock.now() + 1000 })
    const lasting = await desk.create(admin('lasting'))
    clock.advance(1000)
    await expect(desk.revoke(lasting.key.id)).rejects.toMatchObject(isLast)
    await expect(desk.revoke(brief.key.id)).resolves.toBeDefined()
    const third = await desk.create(admin('third'))
    await desk.revoke(lasting.key.id)
    await expect(desk.revoke(third.key.id)).rejects.toMatchObject(isLast)
  })

  test('of two that are revoked at once, one stays valid', async () => {
    const { ring, desk } = await ringIn(temporaryFolder())
    const made = [await desk.create(admin('a')), await desk.create(admin('b'))]
    const results = await Promise.allSettled(made.map(({ key }) => desk.revoke(key.id)))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(made.map(({ secret }) => ring.verify(secret) !== undefined)).toEqual([false, true])
  })

  test('a forced revocation that could not be committed is not undone by one without force', async () => {
    let isOurs = true
    const { ring, desk } = await ringIn(temporaryFolder(), async () => isOurs)
    const { key, secret } = await desk.create(admin('only'))
    isOurs = false
    await expect(desk.revoke(key.id, { force: true })).rejects.toMatchObject({ code: 'ERR_DATA_WRITE' })
    isOurs = true
    await desk.revoke(key.id)
    expect(ring.verify(secret)).toBeUndefined()
  })

  test('the API answers 409, and accepts force', async () => {
    const { call } = await startService()
    const [{ id }] = (await call('GET', '/v1/keys')).body.data.keys
    const refused = await call('DELETE', `/v1/keys/${id}`)
    expect([refused.status, refused.body.meta.error]).toEqual([409, 'ERR_KEY_LAST'])
    expect((await call('GET', '/v1/keys')).status).toBe(200)
    expect((await call('DELETE', `/v1/keys/${id}?force=yes`)).status).toBe(400)
    expect((await call('DELETE', `/v1/keys/${id}?force=true`)).status).toBe(200)
    expect((await call('GET', '/v1/keys')).status).toBe(401)
  })
})

describe('several instances on Redis', () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startRedis()
  })
  beforeEach(async () => {
    await redis.cli('FLUSHALL')
  })
  afterAll(() => redis.stop())

  /** An instance that does not follow polls only on demand. */
  async function instance({ follows = true } = {}) {
    const connection = new RedisConnection({ kind: 'redis', urls: [`redis://127.0.0.1:${redis.port}`] }, () => {})
    await connection.connect()
    const records = new SharedRecords({ database: redisDatabase(connection.send) })
    await (follows ? records.start() : records.poll())
    const ring = new KeyRing(records)
    const desk = keyDesk(records, ring)
    onTestFinished(async () => {
      await desk.close().catch(() => {})
      await records.close()
      await connection.close()
    })
    return { records, ring, desk }
  }

  test('that revoke two keys at once leave one, for any order of their changes', async () => {
    const instances = [await instance(), await instance()]
    let both = 0
    for (let round = 0; round < 40; round++) {
      const [{ ring, desk }] = instances
      const make = (name: string) => desk.create(admin(name))
      const made = [await make(`a${round}`), await make(`b${round}`)]
      const others = ring.list().filter(({ id }) => made.every(({ key }) => key.id !== id))
      for (const { id } of others) await desk.revoke(id)
      await Promise.all(instances.map(({ records }) => records.poll()))
      // A poll at another moment each time sees the other instance's revocation before the own one is committed.
      const results = await Promise.allSettled(
        instances.map(async (each, i) => {
          if (i === 1 && round % 4 > 1) await pause(round % 3)
          const revoked = each.desk.revoke(made[i].key.id)
          if (round % 2 === 1) for (let n = 0; n < 3; n++) each.records.poll().catch(() => {})
          return revoked
        }),
      )
      await Promise.all(instances.map(({ records }) => records.poll()))
      const revoked = results.filter(({ status }) => status === 'fulfilled').length
      both += revoked
      expect(revoked).toBeLessThanOrEqual(1)
      const kept = [...instances[0].records.all('key').values()] as { scopes: string[]; revokedAt?: number }[]
      expect(kept.filter(({ revokedAt }) => revokedAt === undefined).length).toBeGreaterThanOrEqual(1)
    }
    expect(both).toBeGreaterThan(0)
  })

  test('a revocation that waits behind a change of another instance is validated against it', async () => {
    const [one, two] = [await instance(), await instance()]
    const a = await one.desk.create(admin('a'))
    const b = await one.desk.create(admin('b'))
    await two.records.poll()
    await one.desk.revoke(a.key.id)
    // The poll is queued before the commit, so the commit itself finds no unseen change.
    const looked = two.records.poll()
    await expect(two.desk.revoke(b.key.id)).rejects.toMatchObject(isLast)
    await looked
    expect(two.ring.verify(b.secret)).toMatchObject({ id: b.key.id })
  })

  test('two instances revoke different keys while records are lost: after the restore one key is valid', async () => {
    const [one, two] = [await instance({ follows: false }), await instance({ follows: false })]
    const a = await one.desk.create(admin('a'))
    const b = await one.desk.create(admin('b'))
    await two.records.poll()
    await redis.cli('FLUSHALL')
    for (const { records } of [one, two]) await records.poll()
    await expect(one.desk.revoke(a.key.id)).rejects.toMatchObject({ code: 'ERR_RECORDS_LOST' })
    await expect(two.desk.revoke(b.key.id)).rejects.toMatchObject({ code: 'ERR_RECORDS_LOST' })
    expect(await one.records.restore({ dryRun: false })).toMatchObject({ revoked: [{ kind: 'key', id: a.key.id }] })
    await two.records.poll()
    await two.records.writeOwed()
    await one.records.poll()
    for (const { ring } of [one, two]) {
      expect(ring.verify(a.secret)).toBeUndefined()
      expect(ring.verify(b.secret)).toMatchObject({ id: b.key.id })
    }
    // It is committed: nothing undoes it, even if no other key is left.
    await two.desk.revoke(b.key.id, { force: true })
    await one.records.poll()
    await expect(one.desk.revoke(a.key.id)).resolves.toMatchObject({ id: a.key.id })
    expect(one.ring.verify(a.secret)).toBeUndefined()
  })

  test('a refused revocation is committed when Redis has everything again by itself', async () => {
    const [one, two] = [await instance({ follows: false }), await instance({ follows: false })]
    await one.desk.create(admin('a'))
    const b = await one.desk.create(admin('b'))
    await two.records.poll()
    await redis.cli('RENAME', RECORD_KEYS[1], 'elsewhere')
    await one.records.poll()
    await expect(one.desk.revoke(b.key.id)).rejects.toMatchObject({ code: 'ERR_RECORDS_LOST' })
    await redis.cli('RENAME', 'elsewhere', RECORD_KEYS[1])
    await one.records.poll()
    await one.records.writeOwed()
    await two.records.poll()
    for (const { ring } of [one, two]) expect(ring.verify(b.secret)).toBeUndefined()
  })

  test('keys create --store creates a valid key in Redis, usable immediately on running instances', async () => {
    const store = `redis://127.0.0.1:${redis.port}`
    const service = await startSluice({ args: ['--store', store] })
    onTestFinished(() => service.remove())
    const [{ id }] = (await service.call('GET', '/v1/keys')).body.data.keys
    expect((await service.call('DELETE', `/v1/keys/${id}?force=true`)).status).toBe(200)
    expect((await service.call('GET', '/v1/keys')).status).toBe(401)
    await vi.waitFor(() => expect(existsSync(join(service.dataFolder, 'redis-copy.jsonl'))).toBe(true), 20_000)
    const elsewhere = await sluice(['keys', 'create', 'rescue', '--scope', 'admin', '--data-folder', service.dataFolder])
    expect(elsewhere).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('name that Redis with --store') })
    const made = await sluice(['keys', 'create', 'rescue', '--scope', 'admin', '--store', store])
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^sluice_\w+\n$/) })
    const headers = { 'api-key': made.stdout.trim() }
    await vi.waitFor(async () => expect((await fetch(`${service.url}/v1/keys`, { headers })).status).toBe(200), 10_000)
    const audit = (await (await fetch(`${service.url}/v1/audit`, { headers })).json()) as { data: { entries: unknown[] } }
    expect(audit.data.entries[0]).toMatchObject({ actor: 'cli', action: 'key.create' })
    const gone = await sluice(['keys', 'create', 'x', '--store', 'redis://127.0.0.1:1'])
    expect(gone).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('Redis did not answer') })
  })
})
