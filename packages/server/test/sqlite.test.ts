// The service on a SQLite file, as far as it differs from other databases: locked, replaced and damaged files, and several processes.

import { mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { until } from '../../../test/servers/redis-server.mjs'
import { makeLogger } from '../src/log/logger.ts'
import { SqliteTestDatabase } from './databases/sqlite-database.ts'
import { startService, type TestServiceOptions } from './running-service.ts'
import { temporaryFolder } from './temporary-folder.ts'

async function withFile(options: TestServiceOptions = {}) {
  const file = await SqliteTestDatabase.start()
  onTestFinished(() => file.stop())
  const lines: string[] = []
  const logger = makeLogger('info', { write: (line) => void lines.push(line) })
  const service = await startService({ logger, ...options, flags: { store: file.store, ...options.flags } })
  vi.useRealTimers()
  const check = (client = 'ada') => service.call('POST', '/v1/check', { client_id: client, route: '/a' })
  return { file, service, lines, check }
}

describe('a file that another program has locked', () => {
  test('checks are decided by local counters, changes are refused, and everything goes on afterwards', async () => {
    const { file, service, check } = await withFile()
    expect((await check()).body.data).toMatchObject({ status: 'Allow', remain: 99 })
    await file.kill()
    expect((await check()).body.data).toMatchObject({ status: 'Allow', fallback: 'local', remain: 99 })
    const refused = await service.call('PUT', '/v1/policies/x', { client: 'x', rules: '1/s' })
    expect(refused.body.meta).toMatchObject({ code: 503, error: 'ERR_DATA_WRITE' })
    expect((await service.call('GET', '/v1/policies/x')).status).toBe(404)
    const metrics = (await service.call('GET', '/metrics')).body as string
    expect(metrics).toMatch(/sluice_store_errors_total\{store="sqlite",kind="\w+"\} \d+/)
    await file.start()
    await until('the file to be used again', async () => (await check()).body.data.fallback === undefined)
    expect((await service.call('PUT', '/v1/policies/x', { client: 'x', rules: '1/s' })).status).toBe(201)
    expect((await service.call('GET', '/readyz')).body.data).toEqual({ state: 'ready', store: 'sqlite', records: 'kept' })
  })

  test.each([
    ['deny', { status: 'Deny', fallback: 'deny' }],
    ['allow', { status: 'Allow', fallback: 'allow' }],
  ])('with failureMode %s, nothing is counted', async (failureMode, expected) => {
    const { file, check } = await withFile({ flags: { failureMode } })
    await file.kill()
    expect((await check()).body.data).toMatchObject(expected)
    await file.start()
  })

  test('with failureMode throw, checks are answered 503', async () => {
    const { file, check } = await withFile({ flags: { failureMode: 'throw' } })
    await file.kill()
    expect((await check()).body.meta).toMatchObject({ code: 503, error: 'ERR_STORE' })
    await file.start()
  })

  test('a batch does not wait for the lock once for each check', async () => {
    const { file, service } = await withFile()
    await file.kill()
    const startMs = performance.now()
    const checks = Array.from({ length: 1000 }, (_, i) => ({ client_id: `c${i}`, route: '/a' }))
    const { body } = await service.call('POST', '/v1/check/batch', { checks })
    expect(body.data.results.every(({ fallback }: { fallback?: string }) => fallback === 'local')).toBe(true)
    expect(performance.now() - startMs).toBeLessThan(5000)
    await file.start()
  })
})

test('only its owner can read the files, and metrics have the number of counters', async () => {
  const file = join(temporaryFolder(), 'new.db')
  const service = await startService({ flags: { store: `sqlite:${file}` } })
  vi.useRealTimers()
  await service.call('POST', '/v1/check', { client_id: 'ada', route: '/a' })
  for (const end of ['', '-wal']) expect(statSync(`${file}${end}`).mode & 0o777).toBe(0o600)
  expect((await service.call('GET', '/metrics')).body).toContain('sluice_keys 1\n')
  expect((await service.call('GET', '/v1/status')).body.data.store).toMatchObject({ kind: 'sqlite', up: true, counters: 1 })
})

test('a file that is replaced while the service runs: it says so, makes no changes, and counts nothing there', async () => {
  const { file, service, lines, check } = await withFile()
  let counted = 0
  let remain = 0
  /** True if the file has counted the check. */
  const isCounted = async (): Promise<boolean> => {
    const { data } = (await check()).body
    if (data.fallback !== undefined) return false
    counted += 1
    remain = data.remain
    return true
  }
  expect(await isCounted()).toBe(true)
  renameSync(file.path, `${file.path}.moved`)
  writeFileSync(file.path, '')
  await until('the fallback', async () => !(await isCounted()), 2000)
  await until('the log', async () => lines.some((line) => line.includes('the file was replaced while it was open')))
  const refused = await service.call('PUT', '/v1/policies/x', { client: 'x', rules: '1/s' })
  expect(refused.body.meta).toMatchObject({ code: 503, error: 'ERR_DATA_WRITE' })
  for (let i = 0; i < 10; i++) expect(await isCounted()).toBe(false)
  renameSync(`${file.path}.moved`, file.path)
  await until('the file to be used again', isCounted)
  expect(remain).toBe(100 - counted)
  await until('changes', async () => (await service.call('PUT', '/v1/policies/x', { client: 'x', rules: '1/s' })).status === 201)
})

describe('a file that cannot be used stops the start', () => {
  const start = (path: string) => startService({ flags: { store: `sqlite:${path}` } })

  test('because it is not a database', async () => {
    const path = join(temporaryFolder(), 'text.db')
    writeFileSync(path, 'this is no database, but a text that is long enough to be mistaken for one'.repeat(100))
    await expect(start(path)).rejects.toMatchObject({ code: 'ERR_DATA_WRITE', message: expect.stringContaining(path) })
  })

  test('because its folder does not exist, or it is a folder', async () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'a.db'))
    for (const path of [join(folder, 'none', 'a.db'), join(folder, 'a.db')]) {
      await expect(start(path)).rejects.toMatchObject({ code: 'ERR_DATA_WRITE', message: expect.stringContaining(path) })
    }
  })

  test('because a newer version made its tables', async () => {
    const { file, service } = await withFile()
    await service.close()
    await file.run("UPDATE sluice_facts SET value = '2' WHERE name = 'version'")
    await expect(startService({ flags: { store: file.store } })).rejects.toMatchObject({ code: 'ERR_DATA_VERSION' })
  })
})

test('a change and its audit entry are stored together or not at all', async () => {
  const { file, service } = await withFile()
  const put = (rules: string) => service.call('PUT', '/v1/policies/x', { client: 'x', rules })
  expect((await put('1/s')).status).toBe(201)
  await file.run("CREATE TRIGGER refuse BEFORE INSERT ON sluice_audit BEGIN SELECT RAISE(ABORT, 'the log is full'); END")
  expect((await put('2/s')).body.meta).toMatchObject({ code: 503, error: 'ERR_DATA_WRITE' })
  expect((await service.call('GET', '/v1/policies/x')).body.data.rules).toEqual(['1/s'])
  await file.run('DROP TRIGGER refuse')
  expect((await put('2/s')).status).toBe(200)
  const { entries } = (await service.call('GET', '/v1/audit?target=x')).body.data
  expect(entries.map(({ after }: { after: { rules: string[] } }) => after.rules)).toEqual([['2/s'], ['1/s']])
})
