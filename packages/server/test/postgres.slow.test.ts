// The service on PostgreSQL, as far as it differs from other databases: messages about changes, roles, frozen servers and instances.

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { startPgbouncer } from '../../../test/servers/pgbouncer-server.mjs'
import { until } from '../../../test/servers/redis-server.mjs'
import { PostgresDriver } from '../src/backends/postgres/postgres-driver.ts'
import { SharedRecords } from '../src/backends/records/shared-records.ts'
import { TABLES } from '../src/backends/sql/record-tables.ts'
import { ask, type Program } from '../src/backends/sql/sql-program.ts'
import { makeLogger } from '../src/log/logger.ts'
import type { Change } from '../src/records.ts'
import { PostgresDatabase } from './databases/postgres-database.ts'
import { openConnected } from './databases/test-database.ts'
import { startService, type TestServiceOptions } from './running-service.ts'
import { temporaryFolder } from './temporary-folder.ts'

const SERVE_PROCESS = fileURLToPath(new URL('serve-process.mjs', import.meta.url))
const HELD_CHANGE = fileURLToPath(new URL('held-change.mjs', import.meta.url))

let database: PostgresDatabase

beforeAll(async () => {
  database = await PostgresDatabase.start()
})
beforeEach(() => database.clear())
afterAll(() => database.stop())

async function started(store = database.store, options: TestServiceOptions = {}) {
  const lines: string[] = []
  const logger = makeLogger('info', { write: (line) => void lines.push(line) })
  const service = await startService({ logger, ...options, flags: { store, failureTimeoutMs: '10000', ...options.flags } })
  vi.useRealTimers()
  return { ...service, lines }
}

const policy = (id: string, value: unknown): Change => ({ kind: 'policy', id, value })

describe('messages about changes', () => {
  /** An instance that polls only on demand, and another that counts messages. */
  async function pair() {
    let messages = 0
    const listening = await openConnected(database, () => {
      messages += 1
    })
    const records = new SharedRecords({ database: (await openConnected(database)).records })
    onTestFinished(() => records.close())
    await records.poll()
    // One call is made for the connection itself.
    await until('the connection', async () => messages > 0)
    return { listening, records, messages: () => messages }
  }

  test('arrive for each commit, and not for a refused one', async () => {
    const { records, messages } = await pair()
    const before = messages()
    await records.commit([policy('a', 1)])
    await until('a message', async () => messages() > before, 1000)
    const after = messages()
    await expect(records.commit([policy('b', 1)], { refusal: () => new Error('no') as never })).rejects.toThrow('no')
    await records.commit([policy('c', 1)])
    await until('a message', async () => messages() > after, 1000)
    expect(messages()).toBe(after + 1)
  })

  test('arrive again after the connection was cut', async () => {
    const { records, messages } = await pair()
    const before = messages()
    const cut = "SELECT pg_terminate_backend(pid) AS cut FROM pg_stat_activity WHERE query LIKE 'LISTEN %'"
    expect((await database.server.query(cut)).every((row) => row.cut)).toBe(true)
    await until('the connection', async () => messages() > before)
    const again = messages()
    await records.commit([policy('a', 1)])
    await until('a message', async () => messages() > again, 1000)
  })

  test('make changes known faster than polls would', async () => {
    const heard: Change[] = []
    const [one, other] = await Promise.all([openConnected(database), openConnected(database, () => follower.nudge())])
    const follower: SharedRecords = new SharedRecords({ database: other.records })
    follower.watch((change) => heard.push(change))
    onTestFinished(() => follower.close())
    await follower.start()
    const records = new SharedRecords({ database: one.records })
    await records.poll()
    const startMs = performance.now()
    for (let n = 1; n <= 20; n++) {
      await records.commit([policy('p', n)])
      await until('the change', async () => heard.length === n)
    }
    // Each change is made right after a poll. Without messages, each would wait for half a second.
    expect(performance.now() - startMs).toBeLessThan(7000)
  })
})

describe('a role', () => {
  beforeEach(async () => {
    await database.server.query(`
      DO $$ BEGIN CREATE ROLE weak LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
      REVOKE ALL ON SCHEMA public FROM PUBLIC; REVOKE ALL ON ALL TABLES IN SCHEMA public FROM weak; GRANT USAGE ON SCHEMA public TO weak`)
  })
  const weakStore = () => database.store.replace('postgres@', 'weak:hunter2@')

  test('that may not create tables uses those that somebody else has made', async () => {
    const counters = await openConnected(database)
    await counters.store.size
    await database.server.query(
      `${TABLES.join(';')}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO weak`,
    )
    const opened = await openConnected({ store: weakStore() })
    const records = new SharedRecords({ database: opened.records })
    await records.poll()
    await records.commit([policy('a', 1)])
    await opened.audit.append({ actor: 'k', action: 'policy.put', target: 'a' })
    expect((await opened.audit.read()).entries).toHaveLength(1)
  })

  test('without rights, or for a database that does not exist: the log says so, without passwords, and nothing is ready', async () => {
    const wrong = `${database.store.replace('postgres@', 'postgres:hunter2@')}-none?password=hunter2`
    const [weak, none] = await Promise.all([started(weakStore()), started(wrong)])
    for (const { call } of [weak, none]) expect((await call('GET', '/readyz')).body.data.state).toBe('starting')
    expect(weak.lines.join('')).toContain('PostgreSQL refuses the login (permission denied')
    expect(none.lines.join('')).toContain('PostgreSQL refuses the login (database \\"postgres-none\\" does not exist)')
    expect([...weak.lines, ...none.lines].join('')).not.toContain('hunter2')
  })
})

describe('TLS', () => {
  /** The state of a service with these parameters in its address, and what it logged. */
  async function logOf(store: string): Promise<string> {
    const { call, lines } = await started(store)
    expect((await call('GET', '/readyz')).body.data.state).toBe('starting')
    return lines.join('')
  }

  test('that the server does not offer: the log says what to change', async () => {
    const log = await logOf(`${database.store}?sslmode=require`)
    expect(log).toContain('PostgreSQL offers no TLS, which sslmode in the address asks for')
    expect(log).toContain('sslmode=disable')
    const { call } = await started(`${database.store}?sslmode=disable`)
    expect((await call('GET', '/readyz')).body.data.state).toBe('ready')
  }, 40_000)

  test('with an authority whose file does not exist: the log names it', async () => {
    expect(await logOf(`${database.store}?sslmode=verify-full&sslrootcert=/none/ca.pem`)).toMatch(
      /a file in the address of PostgreSQL cannot be read .*\/none\/ca.pem/,
    )
  }, 40_000)
})

describe('a server that is frozen', () => {
  test('commits fail in time, checks are decided by local counters, and everything goes on afterwards', async () => {
    const own = await PostgresDatabase.start()
    onTestFinished(() => own.stop())
    const { call } = await started(own.store, { flags: { failureTimeoutMs: '100' } })
    const check = () => call('POST', '/v1/check', { client_id: 'ada', route: '/a' })
    await check()
    own.server.signal('SIGSTOP')
    try {
      const startMs = performance.now()
      expect((await check()).body.data).toMatchObject({ status: 'Allow', fallback: 'local' })
      expect((await call('PUT', '/v1/policies/x', { client: 'x', rules: '1/s' })).body.meta.error).toBe('ERR_DATA_WRITE')
      expect(performance.now() - startMs).toBeLessThan(6000)
      await until('the state', async () => (await call('GET', '/readyz')).body.data.state === 'degraded')
    } finally {
      own.server.signal('SIGCONT')
    }
    await until('changes', async () => (await call('PUT', '/v1/policies/y', { client: 'y', rules: '1/s' })).status === 201)
    await until('the store', async () => (await check()).body.data.fallback === undefined)
    expect((await call('GET', '/readyz')).body.data).toEqual({ state: 'ready', store: 'postgres', records: 'kept' })
  })

  test('does not delay a stop', async () => {
    const own = await PostgresDatabase.start()
    onTestFinished(() => own.stop())
    const service = await started(own.store)
    own.server.signal('SIGSTOP')
    try {
      const startMs = performance.now()
      await service.close()
      expect(performance.now() - startMs).toBeLessThan(10_000)
    } finally {
      own.server.signal('SIGCONT')
    }
  })
})

test('an instance that stops in the middle of a change blocks the others for seconds, not for ever', async () => {
  const records = new SharedRecords({ database: (await openConnected(database)).records })
  await records.poll()
  const held = spawn(process.execPath, [HELD_CHANGE, database.store], { stdio: 'ignore' })
  onTestFinished(() => void held.kill('SIGKILL'))
  const locks =
    "SELECT 1 FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND state = 'idle in transaction'"
  await until('the lock', async () => (await database.server.query(locks)).length > 0)
  const startMs = performance.now()
  await expect(records.commit([policy('a', 1)])).rejects.toMatchObject({ code: 'ERR_DATA_WRITE' })
  await until('a commit', () => records.commit([policy('a', 2)]).then(() => true), 20_000)
  expect(performance.now() - startMs).toBeLessThan(15_000)
})

test('a change and its audit entry are stored together or not at all', async () => {
  const { call } = await started()
  const put = (rules: string) => call('PUT', '/v1/policies/x', { client: 'x', rules })
  expect((await put('1/s')).status).toBe(201)
  await database.run('ALTER TABLE sluice_audit ADD CONSTRAINT refuse CHECK (false) NOT VALID')
  expect((await put('2/s')).body.meta).toMatchObject({ code: 503, error: 'ERR_DATA_WRITE' })
  expect((await call('GET', '/v1/policies/x')).body.data.rules).toEqual(['1/s'])
  await database.run('ALTER TABLE sluice_audit DROP CONSTRAINT refuse')
  expect((await put('2/s')).status).toBe(200)
  const { entries } = (await call('GET', '/v1/audit?target=x')).body.data
  expect(entries.map(({ after }: { after: { rules: string[] } }) => after.rules)).toEqual([['2/s'], ['1/s']])
})

test('through PgBouncer in transaction mode, two instances share limits, and changes within a second', async () => {
  const bouncer = await startPgbouncer(database.server.port)
  onTestFinished(() => bouncer.stop())
  const store = database.store.replace(/:\d+\//, `:${bouncer.port}/`)
  const a = await started(store)
  const b = await started(store, { key: a.key })
  await a.call('PUT', '/v1/policies/ten', { client: 'herd', rules: '10/hour' })
  await until('the policy', async () => (await b.call('GET', '/v1/policies/ten')).status === 200, 1000)
  const checks = Array.from({ length: 40 }, (_, i) =>
    (i % 2 ? a : b).call('POST', '/v1/check', { client_id: 'herd', route: '/' }),
  )
  const allowed = (await Promise.all(checks)).filter(({ body }) => body.data.status === 'Allow')
  expect(allowed).toHaveLength(10)
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, i) => (i % 2 ? a : b).call('PUT', `/v1/policies/p${i}`, { client: `c${i}`, rules: '1/s' })),
  )
  expect(answers.map(({ status }) => status)).toEqual(new Array(10).fill(201))
})

test('reading goes on while statements are answered, and a change has a deadline as a whole', async () => {
  const driver = new PostgresDriver({ connectionString: database.store }, () => {})
  onTestFinished(() => driver.close())
  function* slow(): Program<number> {
    for (let n = 0; n < 3; n++) yield* ask('SELECT pg_sleep(0.8)')
    return 1
  }
  const [read, change] = await Promise.allSettled([driver.transact('read', slow), driver.transact('write', slow)])
  expect(read).toEqual({ status: 'fulfilled', value: 1 })
  expect(change).toMatchObject({ status: 'rejected', reason: { code: 'ERR_DATA_WRITE' } })
  const silent = () => ask('SELECT pg_sleep(5)')
  await expect(driver.transact('read', silent)).rejects.toMatchObject({ code: 'ERR_DATA_WRITE' })
})

test('a process that starts while PostgreSQL is down waits for it', async () => {
  const own = await PostgresDatabase.start()
  onTestFinished(() => own.stop())
  await own.kill()
  const env = { ...process.env, SLUICE_STORE: own.store, SLUICE_LISTEN: '127.0.0.1:0', SLUICE_DATA_FOLDER: temporaryFolder() }
  const child = spawn(process.execPath, [SERVE_PROCESS], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  await until('an end of the process, or the address', async () => child.exitCode !== null || output.includes('address '), 15_000)
  expect(child.exitCode).toBeNull()
  await own.start()
  await until('the first key', async () => output.includes('key '), 10_000)
}, 40_000)
