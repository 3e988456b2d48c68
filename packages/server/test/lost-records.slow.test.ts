// A Redis that lost policies and keys: the answers, reports and restores of two instances.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type RedisServer, startRedis, until } from '../../../test/servers/redis-server.mjs'
import { RECORD_KEYS } from '../src/backends/redis/records-programs.ts'
import { runProgram } from '../src/cli/program.ts'
import { makeLogger } from '../src/log/logger.ts'
import { startService, type TestService, type TestServiceOptions } from './running-service.ts'
import { writtenTo } from './written-to.ts'

/** Runs a command against a service. Returns its output and exit code. */
async function sluice({ address, key }: TestService, ...args: string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()].map((stream) => Object.assign(stream, { isTTY: false }))
  const env = { SLUICE_URL: address, SLUICE_API_KEY: key }
  const code = await runProgram(args, { stdin: Readable.from(['']), stdout, stderr, env, exitCode: 0 })
  return { code, stdout: writtenTo(stdout), stderr: writtenTo(stderr) }
}

async function ownRedis(): Promise<RedisServer> {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  return redis
}

interface Logged extends TestService {
  readonly lines: { level: string; msg: string; [name: string]: unknown }[]
}

async function onRedis(port: number, options: TestServiceOptions = {}): Promise<Logged> {
  const lines: Logged['lines'] = []
  const logger = makeLogger('info', { write: (line) => void lines.push(JSON.parse(line)) })
  const flags = { store: `redis://127.0.0.1:${port}`, failureTimeoutMs: '10000', ...options.flags }
  const service = await startService({ logger, ...options, flags })
  vi.useRealTimers()
  return Object.assign(service, { lines })
}

const recordsOf = async ({ call }: TestService) => (await call('GET', '/readyz')).body.data.records
const isLost = (service: TestService) => until('the loss to be noticed', async () => (await recordsOf(service)) === 'lost')
const isKept = (service: TestService) => until('the records to be back', async () => (await recordsOf(service)) === 'kept')

/** Two instances that know a policy, a valid key and a revoked key. */
async function two() {
  const redis = await ownRedis()
  const a = await onRedis(redis.port)
  const b = await onRedis(redis.port, { key: a.key })
  await a.call('PUT', '/v1/policies/seven', { client: 'ada', rules: '7/hour' })
  const shop = (await a.call('POST', '/v1/keys', { name: 'shop', scopes: ['check'] })).body.data
  const leaked = (await a.call('POST', '/v1/keys', { name: 'leaked', scopes: ['check'] })).body.data
  await a.call('DELETE', `/v1/keys/${leaked.key.id}`)
  await until('both to know', async () => {
    const { keys } = (await b.call('GET', '/v1/keys')).body.data
    return keys.some(({ revoked_at }: { revoked_at: string | null }) => revoked_at !== null)
  })
  const check = ({ call }: TestService, secret: string) =>
    call('POST', '/v1/check', { client_id: 'ada', route: '/a' }, { 'api-key': secret })
  return { redis, a, b, shop, leaked, check }
}

test('checks are decided as before, the loss is reported everywhere, and one audited command restores the records', async () => {
  const { redis, a, b, shop, leaked, check } = await two()
  await redis.cli('FLUSHALL')
  await Promise.all([isLost(a), isLost(b)])
  for (const each of [a, b]) {
    expect(await each.call('GET', '/readyz')).toMatchObject({ status: 200, body: { data: { state: 'ready', records: 'lost' } } })
    expect((await check(each, shop.secret)).body.data).toMatchObject({ limit: 7 })
    expect((await check(each, leaked.secret)).status).toBe(401)
    expect((await each.call('PUT', '/v1/policies/x', { client: 'x', rules: '1/s' })).body.meta).toMatchObject({
      code: 503,
      error: 'ERR_RECORDS_LOST',
      message: expect.stringContaining('sluice records restore'),
    })
    expect((await each.call('GET', '/v1/policies/x')).status).toBe(404)
    expect((await each.call('GET', '/metrics')).body).toContain('sluice_records_lost 1\n')
    expect((await each.call('GET', '/v1/status')).body.data.records).toMatchObject({ state: 'lost', known_by: null })
    expect(each.lines.filter(({ msg }) => msg.includes('Redis lost changes'))).toMatchObject([{ level: 'error', found: 0 }])
  }
  expect(await sluice(a, 'records', 'status')).toMatchObject({
    code: 4,
    stdout: expect.stringMatching(/^The store lost policies or keys, noticed 20.*\nRestore them with: sluice records restore\n$/),
  })
  expect((await sluice(a, 'health')).stdout).toBe(
    'ready, counts in redis; policies or keys were lost: see sluice records status\n',
  )
  expect(await sluice(a, 'records', 'restore', '--dry-run')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^to write: 4 \(policy seven, key /),
  })
  expect(await redis.cli('HLEN', 'sluice:{records}:keys')).toBe('0')
  expect(await sluice(a, 'records', 'restore')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^written: 4 \(policy seven/),
  })
  await Promise.all([isKept(a), isKept(b)])
  expect(await sluice(a, 'records', 'restore')).toMatchObject({ code: 0, stdout: 'Nothing had to be restored.\n' })
  expect(await sluice(b, 'records', 'status')).toMatchObject({ code: 0, stdout: 'Nothing is lost.\n' })
  const fresh = await onRedis(redis.port, { key: a.key })
  expect((await check(fresh, shop.secret)).status).toBe(200)
  expect((await check(fresh, leaked.secret)).status).toBe(401)
  expect((await fresh.call('PUT', '/v1/policies/x', { client: 'x', rules: '1/s' })).status).toBe(201)
  const { entries } = (await fresh.call('GET', '/v1/audit?target=redis')).body.data
  expect(entries).toMatchObject([
    { action: 'records.restore', after: { written: 4, revoked: 0, removed: 0, kept: 0, exact: true } },
  ])
  expect((await b.call('GET', '/metrics')).body).toContain('sluice_records_lost 0\n')
})

test('an instance that starts meanwhile: with its copy it is ready, without one it waits and creates no first key', async () => {
  const { redis, a, b, shop, check } = await two()
  await b.close()
  await redis.cli('FLUSHALL')
  await isLost(a)
  const again = await onRedis(redis.port, { key: a.key, folder: b.folder })
  expect((await again.call('GET', '/readyz')).body.data).toMatchObject({ state: 'ready', records: 'lost' })
  expect((await check(again, shop.secret)).status).toBe(200)
  const onFirstKey = vi.fn()
  const fresh = await onRedis(redis.port, { key: a.key, onFirstKey })
  expect(await fresh.call('GET', '/readyz')).toMatchObject({
    status: 503,
    body: { data: { state: 'starting', records: 'lost' } },
  })
  expect(fresh.lines.map(({ msg }) => msg)).toContain(
    'Redis lost policies and keys, and this instance knows none: listening, but not ready until this is resolved',
  )
  // The closed instance may have made a change that the other has not seen. Then only that one can restore.
  const answers = []
  for (const each of [a, again]) answers.push(await each.call('POST', '/v1/records/restore', {}))
  expect(answers.some(({ status }) => status === 200)).toBe(true)
  await fresh.ready
  expect((await check(fresh, shop.secret)).status).toBe(200)
  expect(onFirstKey).not.toHaveBeenCalled()
})

test('a good copy is kept through a loss and a stop; a key that was revoked meanwhile is refused where it was revoked', async () => {
  const { redis, a, b, shop, check } = await two()
  await b.close()
  const copy = join(b.folder, 'redis-copy.jsonl')
  const whole = readFileSync(copy, 'utf8')
  expect(whole).toContain('"seven"')
  await redis.cli('FLUSHALL')
  await isLost(a)
  const again = await onRedis(redis.port, { key: a.key, folder: b.folder })
  expect((await again.call('DELETE', `/v1/keys/${shop.key.id}`)).body.meta.error).toBe('ERR_RECORDS_LOST')
  expect((await check(again, shop.secret)).status).toBe(401)
  await again.close()
  expect(readFileSync(copy, 'utf8')).toBe(whole)
})

test('a revocation that was refused meanwhile is committed by the restore, and applies everywhere', async () => {
  const { redis, a, b, shop, check } = await two()
  await redis.cli('FLUSHALL')
  await Promise.all([isLost(a), isLost(b)])
  expect((await a.call('DELETE', `/v1/keys/${shop.key.id}`)).body.meta.error).toBe('ERR_RECORDS_LOST')
  const planned = (await a.call('POST', '/v1/records/restore', { dry_run: true })).body.data
  expect(planned).toMatchObject({ written: { count: 4 }, revoked: { count: 1 } })
  expect((await a.call('POST', '/v1/records/restore', {})).body.data).toMatchObject({ written: { count: 4 } })
  await until('the other instance to refuse it', async () => (await check(b, shop.secret)).status === 401)
  const fresh = await onRedis(redis.port, { key: a.key })
  expect((await check(fresh, shop.secret)).status).toBe(401)
})

test('an instance that returns with an older copy refuses keys that another knows to be revoked', async () => {
  const { redis, a, b, shop, check } = await two()
  await b.close()
  expect((await a.call('DELETE', `/v1/keys/${shop.key.id}`)).status).toBe(200)
  await redis.cli('FLUSHALL')
  await isLost(a)
  await until('the revoked keys to be named', async () => (await redis.cli('HLEN', 'sluice:{records}:revoked')) === '2')
  const again = await onRedis(redis.port, { key: a.key, folder: b.folder })
  expect((await again.call('GET', '/readyz')).body.data).toMatchObject({ state: 'ready', records: 'lost' })
  expect((await check(again, shop.secret)).status).toBe(401)
})

test('creating a key in such a Redis is refused immediately, with the reason', async () => {
  const { redis, a } = await two()
  await redis.cli('FLUSHALL')
  await isLost(a)
  const made = await sluice(a, 'keys', 'create', 'rescue', '--scope', 'admin', '--store', `redis://127.0.0.1:${redis.port}`)
  expect(made).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/Redis lost changes.*sluice records restore.*process \d+ on /),
  })
})

test('of two restores at once, one runs, and it is in the audit log once', async () => {
  const { redis, a, b } = await two()
  await redis.cli('FLUSHALL')
  await Promise.all([isLost(a), isLost(b)])
  const answers = await Promise.all([a, b].map(({ call }) => call('POST', '/v1/records/restore', {})))
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  expect(answers.map(({ body }) => body.data.written.count).toSorted()).toEqual([0, 4])
  expect((await a.call('GET', '/v1/audit?target=redis')).body.data.entries).toHaveLength(1)
})

test('an instance that knows less names the one to restore from', async () => {
  const { redis, a } = await two()
  const [said] = RECORD_KEYS.slice(5)
  await redis.cli('SET', said, '999 process 7 on elsewhere, since 2026-01-02T03:04:05.000Z', 'PX', '60000')
  await isLost(a)
  expect((await sluice(a, 'records', 'status')).stdout).toMatch(
    /\nRestore them with: sluice records restore --url <that instance>\. It is process 7 on elsewhere, since 2026\S+\.\n$/,
  )
})

test('restoring needs the scope admin, reading the scope read, and records in memory are never lost', async () => {
  const service = await startService()
  const read = (await service.call('POST', '/v1/keys', { name: 'r', scopes: ['read'] })).body.data.secret
  const asReader = { 'api-key': read }
  expect((await service.call('GET', '/v1/records', undefined, asReader)).body.data).toMatchObject({ state: 'kept', since: null })
  expect((await service.call('POST', '/v1/records/restore', {}, asReader)).status).toBe(403)
  for (const wrong of [{ dry_run: 1 }, null]) {
    expect((await service.call('POST', '/v1/records/restore', wrong)).status).toBe(400)
  }
  for (const sent of [{}, undefined]) {
    const { status, body } = await service.call('POST', '/v1/records/restore', sent)
    expect([status, body.data?.state, body.data?.written.count]).toEqual([200, 'kept', 0])
  }
  expect((await service.call('GET', '/v1/audit?target=redis')).body.data.entries).toEqual([])
})

describe('a reachable Redis', () => {
  test('with unreadable records: the service starts, names them, refuses the keys, and goes on', async () => {
    const redis = await ownRedis()
    const first = await onRedis(redis.port)
    await first.call('PUT', '/v1/policies/seven', { client: 'ada', rules: '7/hour' })
    const shop = (await first.call('POST', '/v1/keys', { name: 'shop', scopes: ['check'] })).body.data
    await first.close()
    await redis.cli('HSET', 'sluice:{records}:policies', 'torn', '{"name":"to')
    await redis.cli('HSET', 'sluice:{records}:policies', 'odd', '{"name":"odd","rules":"sometimes"}')
    await redis.cli('HSET', 'sluice:{records}:keys', shop.key.id, '\u0001')
    await redis.cli('HSET', 'sluice:{records}:keys', 'strange', '[]')
    await redis.cli('XADD', 'sluice:{records}:audit', '*', 'entry', '{"torn')
    const service = await onRedis(redis.port, { key: first.key })
    expect((await service.call('GET', '/readyz')).body.data).toEqual({ state: 'ready', store: 'redis', records: 'kept' })
    expect((await service.call('GET', '/v1/policies/seven')).status).toBe(200)
    expect((await service.call('POST', '/v1/check', { client_id: 'a', route: '/' }, { 'api-key': shop.secret })).status).toBe(401)
    const { unreadable } = (await service.call('GET', '/v1/records')).body.data
    expect(unreadable.names.map(({ kind, id }: { kind: string; id: string }) => `${kind} ${id}`).toSorted()).toEqual(
      [`key ${shop.key.id}`, 'key strange', 'policy odd', 'policy torn'].toSorted(),
    )
    expect((await service.call('GET', '/metrics')).body).toContain('sluice_records_unreadable 4\n')
    const named = service.lines.filter(({ msg }) => msg.includes('cannot be read'))
    expect(named.map(({ kind, id, policy, key }) => [kind, id, policy, key].filter(Boolean).join(' ')).toSorted()).toEqual(
      ['odd', 'policy torn', `key ${shop.key.id}`, 'strange'].toSorted(),
    )
    expect((await service.call('GET', '/v1/audit')).status).toBe(200)
    expect((await service.call('PUT', '/v1/policies/torn', { client: 't', rules: '1/s' })).status).toBe(201)
    expect((await service.call('PUT', '/v1/policies/odd', { client: 'o', rules: '1/s' })).status).toBe(201)
    expect((await service.call('GET', '/metrics')).body).toContain('sluice_records_unreadable 2\n')
  })

  test('that refuses the password: the log says so, and not that Redis does not answer', async () => {
    const redis = await ownRedis()
    await redis.cli('CONFIG', 'SET', 'requirepass', 'right')
    const service = await onRedis(redis.port, { flags: { store: `redis://:wrong@127.0.0.1:${redis.port}` } })
    const said = service.lines.map(({ msg }) => msg).join('\n')
    expect(said).toMatch(/Redis refuses the login \(WRONGPASS .*\): listening, but not ready until this is resolved/)
    expect(said).not.toContain('does not answer')
    expect((await service.call('GET', '/readyz')).body.data.state).toBe('starting')
  })
})
