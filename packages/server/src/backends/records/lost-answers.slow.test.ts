// The connection to a real server ends after it has executed a commit, and before its answer arrives.

import { expect, onTestFinished, test } from 'vitest'
import { startProxy, type TcpProxy } from '../../../../../test/servers/tcp-proxy.mjs'
import { PostgresDatabase } from '../../../test/databases/postgres-database.ts'
import { RedisDatabase } from '../../../test/databases/redis-database.ts'
import { openConnected } from '../../../test/databases/test-database.ts'
import { type Around, wrappedSteps } from '../../../test/databases/wrapped-steps.ts'
import type { Change } from '../../records.ts'
import { PostgresDriver } from '../postgres/postgres-driver.ts'
import { SqlDatabase } from '../sql/sql-database.ts'
import type { Access, Program } from '../sql/sql-program.ts'
import type { RecordsDatabase } from './records-database.ts'
import { SharedRecords } from './shared-records.ts'

const policy = (id: string, value: unknown): Change => ({ kind: 'policy', id, value })

function sharedRecords(database: RecordsDatabase): SharedRecords {
  const records = new SharedRecords({ database })
  onTestFinished(() => records.close())
  return records
}

const CONDITIONS = [
  ['cut', { cutDownAfter: 0, cutOnce: true }],
  ['silent', { loseDown: true }],
] as const

async function proxyTo(port: number): Promise<TcpProxy> {
  const proxy = await startProxy(port)
  onTestFinished(() => proxy.stop())
  return proxy
}

/** Ends the conditions after the deadline of an answer. TCP loses no bytes, so the connections end too. */
function strike(proxy: TcpProxy, conditions: TcpProxy['conditions']): void {
  proxy.conditions = conditions
  if (!('loseDown' in conditions)) return
  setTimeout(() => {
    proxy.conditions = {}
    proxy.reset()
  }, 2100)
}

test.each(CONDITIONS)('to Redis, %s: the commit succeeds', async (_, conditions) => {
  const database = await RedisDatabase.start()
  onTestFinished(() => database.stop())
  const proxy = await proxyTo(database.server.port)
  const { records: steps } = await openConnected({ store: `redis://127.0.0.1:${proxy.port}` })
  let commits = 0
  const around: Around = (step, send) => {
    if (step === 'commit') commits += 1
    if (step === 'commit' && commits === 1) strike(proxy, conditions)
    return send()
  }
  const records = sharedRecords(wrappedSteps(steps, around))
  await records.poll()
  await records.commit([policy('p', 1)])
  expect(await database.lastChange()).toBe(1)
})

test.each(CONDITIONS)('to PostgreSQL, %s at COMMIT: the commit succeeds', async (_, conditions) => {
  const database = await PostgresDatabase.start()
  onTestFinished(() => database.stop())
  const proxy = await proxyTo(database.server.port)
  const store = database.store.replace(/:\d+\//, `:${proxy.port}/`)
  const driver = new PostgresDriver({ connectionString: store }, () => {})
  onTestFinished(() => driver.close())
  let writes = 0
  function transact<T>(access: Access, program: () => Program<T>): Promise<T> {
    return driver.transact(access, function* struck(): Program<T> {
      const result = yield* program()
      if (access === 'write') writes += 1
      if (writes === 1) strike(proxy, conditions)
      return result
    })
  }
  const { title, nowMs, announce, troubleOf } = driver
  const records = sharedRecords(new SqlDatabase({ title, nowMs, announce, troubleOf, transact }))
  await records.poll()
  await records.commit([policy('p', 1)])
  expect(await database.lastChange()).toBe(1)
})
