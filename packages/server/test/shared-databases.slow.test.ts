// The service on a database that instances share: two instances with the same limits, policies and keys, and the behaviour while the
// database does not answer.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { freePort, until } from '../../../test/servers/redis-server.mjs'
import { runProgram } from '../src/cli/program.ts'
import { sealLine } from '../src/files/checked-lines.ts'
import { DATABASE_NAMES, TEST_DATABASES, type TestDatabase } from './databases/test-database.ts'
import { startService, type TestService, type TestServiceOptions } from './running-service.ts'
import { writtenTo } from './written-to.ts'

/** On a busy machine the database may be slow, and the fallback counters would look like errors. */
const PATIENT = { failureTimeoutMs: '10000' }

describe.each(DATABASE_NAMES)('on %s', (name) => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await TEST_DATABASES[name]()
  })
  beforeEach(() => database.clear())
  afterAll(() => database.stop())

  async function started(options: TestServiceOptions = {}): Promise<TestService> {
    const service = await startService({ ...options, flags: { store: database.store, ...PATIENT, ...options.flags } })
    // Counters use the clock of the database, so the clock of this process need not stand still.
    vi.useRealTimers()
    return service
  }

  async function twoInstances(): Promise<readonly [TestService, TestService]> {
    const first = await started()
    return [first, await started({ key: first.key })]
  }

  describe('two instances', () => {
    test('share every limit exactly, whichever instance is asked', async () => {
      const [a, b] = await twoInstances()
      await a.call('PUT', '/v1/policies/hundred', { client: 'ada', rules: '100/hour' })
      await until('both to know the policy', async () => (await b.call('GET', '/v1/policies/hundred')).status === 200)
      const answers = await Promise.all(
        Array.from({ length: 300 }, (_, i) => (i % 2 === 0 ? a : b).call('POST', '/v1/check', { client_id: 'ada', route: '/a' })),
      )
      expect(answers.filter(({ body }) => body.data.status === 'Allow')).toHaveLength(100)
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    })

    test('policies and keys created on one are valid on the other within a second, and a revoked key is refused there', async () => {
      const [a, b] = await twoInstances()
      const within = async (what: string, holds: () => Promise<boolean>) => until(what, holds, 1000)
      await a.call('PUT', '/v1/policies/tight', { client: 'ada', rules: '7/hour' })
      const limit = async () => (await b.call('POST', '/v1/check', { client_id: 'ada', route: '/a' })).body.data.limit
      await within('the policy', async () => (await limit()) === 7)
      const { key, secret } = (await a.call('POST', '/v1/keys', { name: 'shop', scopes: ['check'] })).body.data
      const status = async () =>
        (await b.call('POST', '/v1/check', { client_id: 'x', route: '/a' }, { 'api-key': secret })).status
      await within('the key', async () => (await status()) === 200)
      await a.call('DELETE', `/v1/keys/${key.id}`)
      await within('the revocation', async () => (await status()) !== 200)
      await a.call('DELETE', '/v1/policies/tight')
      await within('the deletion', async () => (await limit()) === 100)
    })

    test('change policies at the same time, and every change is kept', async () => {
      const [a, b] = await twoInstances()
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          (i % 2 === 0 ? a : b).call('PUT', `/v1/policies/p${i}`, { client: `c${i}`, rules: '1/s' }),
        ),
      )
      expect(answers.map(({ status }) => status)).toEqual(new Array(20).fill(201))
      await until('both to have all', async () => {
        const totals = await Promise.all([a, b].map(async ({ call }) => (await call('GET', '/v1/policies')).body.data.total))
        return totals.every((total) => total === 21)
      })
    })

    test('a policy has the same ETag on both; of two changes at once with the same precondition, one is refused', async () => {
      const [a, b] = await twoInstances()
      for (let round = 1; round <= 10; round++) {
        const { etag } = (await a.call('PUT', '/v1/policies/p', { client: 'c', rules: `${round}/s` })).body.data
        await until('the same tag', async () => (await b.call('GET', '/v1/policies/p')).body.data?.etag === etag)
        const answers = await Promise.all(
          [a, b].map(({ call }, i) =>
            call('PUT', '/v1/policies/p', { client: 'c', rules: `${100 + i}/s` }, { 'if-match': etag }),
          ),
        )
        expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412])
      }
    })

    test('only one creates the first key, and both write to one audit log', async () => {
      const onFirstKey = vi.fn()
      const flags = { store: database.store }
      const [a, b] = await Promise.all([startService({ flags, onFirstKey }), startService({ flags, onFirstKey })])
      vi.useRealTimers()
      expect(onFirstKey).toHaveBeenCalledTimes(1)
      const [[secret]] = onFirstKey.mock.calls
      const headers = { 'api-key': secret as string }
      await until('the key to be known', async () => (await b.call('GET', '/v1/keys', undefined, headers)).status === 200)
      await until('the key to be known', async () => (await a.call('GET', '/v1/keys', undefined, headers)).status === 200)
      await a.call('PUT', '/v1/policies/x', { client: 'a', rules: '1/s' }, headers)
      await until('the other to hear', async () => (await b.call('GET', '/v1/policies/x', undefined, headers)).status === 200)
      await b.call('DELETE', '/v1/policies/x', undefined, headers)
      const { entries, next } = (await a.call('GET', '/v1/audit?limit=2', undefined, headers)).body.data
      expect(entries.map(({ action }: { action: string }) => action)).toEqual(['policy.delete', 'policy.put'])
      const rest = (await b.call('GET', `/v1/audit?before=${next}`, undefined, headers)).body.data
      expect(rest.entries.map(({ action }: { action: string }) => action)).toEqual(['key.create'])
      expect(rest.next).toBeNull()
      const ofPolicy = (await b.call('GET', '/v1/audit?target=x', undefined, headers)).body.data
      expect(ofPolicy).toMatchObject({ entries, next: null })
    })
  })

  test('counters and all records survive a restart of the service', async () => {
    const first = await started()
    await first.call('PUT', '/v1/policies/tight', { client: 'bea', rules: '5/hour' })
    await first.call('POST', '/v1/check', { client_id: 'bea', route: '/a', cost: 2 })
    await first.close()
    const second = await started({ key: first.key })
    expect((await second.call('POST', '/v1/check', { client_id: 'bea', route: '/a' })).body.data).toMatchObject({
      limit: 5,
      remain: 2,
    })
  })

  test('keys create --store creates a key that running instances accept within a second, with an audit entry', async () => {
    const { call } = await started()
    const [stdout, stderr] = [new PassThrough(), new PassThrough()].map((stream) => Object.assign(stream, { isTTY: false }))
    const args = ['keys', 'create', 'rescue', '--scope', 'admin', '--store', database.store]
    const code = await runProgram(args, { stdin: Readable.from(['']), stdout, stderr, env: {}, exitCode: 0 })
    expect(code).toBe(0)
    const headers = { 'api-key': writtenTo(stdout).trim() }
    await until('the key', async () => (await call('GET', '/v1/keys', undefined, headers)).status === 200, 1000)
    const [newest] = (await call('GET', '/v1/audit')).body.data.entries
    expect(newest).toMatchObject({ actor: 'cli', action: 'key.create', after: { name: 'rescue' } })
  })

  describe.runIf(name !== 'sqlite')('while it does not answer', () => {
    /** For behaviour that does not depend on the database. */
    const testOnce = test.runIf(name === 'redis')
    const copyFile = `${name}-copy.jsonl`

    async function ownDatabase(): Promise<TestDatabase> {
      const own = await TEST_DATABASES[name]()
      onTestFinished(() => own.stop())
      return own
    }

    async function withOwn(flags: Record<string, string> = {}) {
      const own = await ownDatabase()
      const service = await startService({ flags: { store: own.store, ...flags } })
      vi.useRealTimers()
      return { own, service }
    }

    test('local counters decide, readiness and metrics report it, and it recovers by itself', async () => {
      const { own, service } = await withOwn()
      const check = async () => service.call('POST', '/v1/check', { client_id: 'ada', route: '/a' })
      const usage = async () => (await service.call('GET', '/v1/usage?client_id=ada&route=/a')).body.data
      expect((await check()).body.data.remain).toBe(99)
      expect(await usage()).not.toHaveProperty('fallback')
      await own.kill()
      expect(await usage()).toMatchObject({ status: 'Allow', fallback: 'local', rules: [{ used: 0 }] })
      for (let i = 0; i < 10; i++) {
        const startMs = performance.now()
        expect(await check()).toMatchObject({ status: 200, body: { data: { status: 'Allow', fallback: 'local' } } })
        expect(performance.now() - startMs).toBeLessThan(1000)
      }
      expect((await service.call('GET', '/readyz')).body).toMatchObject({
        meta: { code: 200 },
        data: { state: 'degraded', store: name },
      })
      const metrics = (await service.call('GET', '/metrics')).body as string
      expect(metrics).toContain(`sluice_store_up{store="${name}"} 0\n`)
      expect(Number(/sluice_fallback_decisions_total\{mode="local"\} (\d+)/.exec(metrics)?.[1])).toBeGreaterThanOrEqual(9)
      expect(metrics).toMatch(new RegExp(`sluice_store_errors_total\\{store="${name}",kind="\\w+"\\} \\d+`))
      expect((await service.call('PUT', '/v1/policies/x', { client: 'x', rules: '1/s' })).body.meta).toMatchObject({
        code: 503,
        error: 'ERR_DATA_WRITE',
      })
      expect((await service.call('GET', '/v1/policies/x')).status).toBe(404)
      await own.start()
      await until('the database to answer again', async () => {
        await check()
        return (await service.call('GET', '/readyz')).body.data.state === 'ready'
      })
    })

    testOnce('with failureMode deny, proxies get 503, and bodies, headers and metrics say that nothing was counted', async () => {
      const { own, service } = await withOwn({ failureMode: 'deny' })
      const authorize = (query = '') => service.call('GET', `/v1/authorize?client=ada&route=/a${query}`)
      expect((await authorize()).status).toBe(200)
      await own.kill()
      const denied = await authorize()
      expect([denied.status, denied.body, denied.headers.get('retry-after')]).toEqual([503, '', '1'])
      expect([...denied.headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([])
      expect((await authorize('&deny_status=403')).status).toBe(403)
      const checked = await service.call('POST', '/v1/check', { client_id: 'ada', route: '/a' })
      expect(checked).toMatchObject({ status: 200, body: { data: { status: 'Deny', fallback: 'deny', retryable: true } } })
      expect(checked.headers.get('ratelimit')).toBeNull()
      const batch = await service.call('POST', '/v1/check/batch', { checks: [{ client_id: 'ada', route: '/a' }] })
      expect(batch.body.data.results).toMatchObject([{ status: 'Deny', fallback: 'deny', retryable: true, retry_after_ms: 500 }])
      const usage = await service.call('GET', '/v1/usage?client_id=ada&route=/a')
      expect(usage).toMatchObject({ status: 200, body: { data: { status: 'Deny', fallback: 'deny' } } })
      const metrics = (await service.call('GET', '/metrics')).body as string
      expect(metrics).toContain('sluice_checks_total{policy="default",outcome="deny",reason="fallback"} 4\n')
      expect(metrics).not.toContain('reason="limit"')
      expect((await service.call('GET', '/v1/stats?seconds=60')).body.data.since_start.denied).toBe(4)
    })

    testOnce('with failureMode allow, checks pass, and bodies and headers say that nothing was counted', async () => {
      const { own, service } = await withOwn({ failureMode: 'allow' })
      await own.kill()
      const checked = await service.call('POST', '/v1/check', { client_id: 'ada', route: '/a' })
      expect(checked).toMatchObject({ status: 200, body: { data: { status: 'Allow', fallback: 'allow' } } })
      expect([...checked.headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([])
      const usage = await service.call('GET', '/v1/usage?client_id=ada&route=/a')
      expect(usage).toMatchObject({ status: 200, body: { data: { status: 'Allow', fallback: 'allow' } } })
      const metrics = (await service.call('GET', '/metrics')).body as string
      expect(metrics).toContain('sluice_checks_total{policy="default",outcome="allow",reason="fallback"} 1\n')
    })

    test('a key that is revoked is revoked when it answers again, with an audit entry', async () => {
      const { own, service } = await withOwn(PATIENT)
      const { key } = (await service.call('POST', '/v1/keys', { name: 'shop', scopes: ['check'] })).body.data
      await own.kill()
      expect((await service.call('DELETE', `/v1/keys/${key.id}`)).status).toBe(503)
      await own.start()
      const actions = async (): Promise<readonly string[]> =>
        (await service.call('GET', `/v1/audit?target=${key.id}`)).body.data.entries.map(
          ({ action }: { action: string }) => action,
        )
      await until('the entry', async () => {
        // A database without persistence has lost everything.
        await service.call('POST', '/v1/records/restore', {})
        return (await actions()).includes('key.revoke')
      })
      await pause(1000)
      expect((await actions()).filter((action) => action === 'key.revoke')).toHaveLength(1)
    })

    test('with failureMode throw, checks are answered 503 and the service is not ready', async () => {
      const { own, service } = await withOwn({ failureMode: 'throw' })
      await own.kill()
      const { status, body } = await service.call('POST', '/v1/check', { client_id: 'ada', route: '/a' })
      expect(status).toBe(503)
      expect(body.meta.error).toBe('ERR_STORE')
      const batch = await service.call('POST', '/v1/check/batch', { checks: [{ client_id: 'ada', route: '/a' }] })
      expect(batch.body.data.results).toEqual([{ status: 'Error', message: expect.any(String) }])
      expect((await service.call('GET', '/readyz')).body).toMatchObject({ meta: { code: 503 }, data: { state: 'store-down' } })
      expect((await service.call('GET', '/v1/stats?seconds=60')).body.data.since_start.errors).toBe(2)
      expect((await service.call('GET', '/livez')).status).toBe(200)
    })

    test('a start without it listens, is not ready, and becomes ready when it answers', async () => {
      const own = await ownDatabase()
      await own.kill()
      const onFirstKey = vi.fn()
      const started = startService({ flags: { store: own.store }, onFirstKey })
      const service = await started
      vi.useRealTimers()
      expect((await service.call('GET', '/readyz')).body.data.state).toBe('starting')
      expect((await service.call('POST', '/v1/check', { client_id: 'a', route: '/a' })).body.meta.error).toBe('ERR_NOT_READY')
      await own.start()
      await service.ready
      expect((await service.call('GET', '/readyz')).body.data.state).toBe('ready')
      expect(onFirstKey).toHaveBeenCalledTimes(1)
    })

    test('a start without it uses the last known policies and keys, even if it comes back empty', async () => {
      const { own, service: before } = await withOwn()
      const { folder, key } = before
      await before.call('PUT', '/v1/policies/seven', { client: 'ada', rules: '7/hour' })
      const shop = (await before.call('POST', '/v1/keys', { name: 'shop', scopes: ['check'] })).body.data
      await before.close()
      await own.kill()
      const service = await startService({ flags: { store: own.store }, folder, key })
      vi.useRealTimers()
      expect((await service.call('GET', '/readyz')).body.data.state).toBe('degraded')
      const check = () => service.call('POST', '/v1/check', { client_id: 'ada', route: '/a' }, { 'api-key': shop.secret })
      expect((await check()).body.data).toMatchObject({ status: 'Allow', limit: 7, remain: 6 })
      expect((await service.call('DELETE', '/v1/policies/seven')).body.meta.error).toBe('ERR_DATA_WRITE')

      await own.start()
      await own.clear()
      await service.ready
      await until('the loss', async () => (await service.call('GET', '/readyz')).body.data.records === 'lost')
      expect((await service.call('GET', '/readyz')).body.data).toEqual({ state: 'ready', store: name, records: 'lost' })
      expect((await service.call('GET', '/v1/policies/seven')).status).toBe(200)
      expect((await check()).status).toBe(200)
      expect((await service.call('DELETE', '/v1/policies/seven')).body.meta).toMatchObject({
        code: 503,
        error: 'ERR_RECORDS_LOST',
      })
    })

    testOnce('a copy of another one, or an incomplete one, is not used', async () => {
      const { own, service: before } = await withOwn()
      await before.call('PUT', '/v1/policies/seven', { client: 'ada', rules: '7/hour' })
      await before.close()
      await own.kill()
      const copy = join(before.folder, copyFile)
      const state = async (store: string) => {
        const service = await startService({ flags: { store }, folder: before.folder })
        const { body } = await service.call('GET', '/readyz')
        await service.close()
        return body.data.state
      }
      expect(await state(own.store.replace(/:\d+/, `:${await freePort()}`))).toBe('starting')
      const whole = readFileSync(copy)
      writeFileSync(copy, whole.subarray(0, -1))
      expect(await state(own.store)).toBe('starting')
      writeFileSync(copy, whole)
      expect(await state(own.store)).toBe('degraded')
      expect(readFileSync(copy)).toEqual(whole)
    })

    testOnce('a copy of another one is moved aside, not overwritten; one of a newer version is not touched', async () => {
      const [first, second] = [await withOwn(), await withOwn()]
      const { folder } = first.service
      await first.service.call('PUT', '/v1/policies/seven', { client: 'ada', rules: '7/hour' })
      await first.service.close()
      const copy = join(folder, copyFile)
      const whole = readFileSync(copy)
      const flags = { store: second.own.store }
      const other = await startService({ flags, folder, key: second.service.key })
      vi.useRealTimers()
      await other.call('PUT', '/v1/policies/other', { client: 'eve', rules: '1/s' })
      await other.close()
      expect(readFileSync(join(folder, `${name}-copy.aside.jsonl`))).toEqual(whole)
      expect(readFileSync(copy, 'utf8')).toContain('"other"')
      const later = sealLine({ version: 3, of: flags.store, count: 0 })
      writeFileSync(copy, later)
      const again = await startService({ flags, folder, key: second.service.key })
      vi.useRealTimers()
      await again.call('DELETE', '/v1/policies/other')
      await again.close()
      expect(readFileSync(copy, 'utf8')).toBe(later)
    })

    test('a stop without it is not delayed', async () => {
      const { own, service } = await withOwn()
      await own.kill()
      await pause(50)
      const startMs = performance.now()
      await service.close()
      expect(performance.now() - startMs).toBeLessThan(6000)
    })
  })
})
