// The answer to the first statement of a store is lost: the one that looks for the table. The store is in use again some seconds later.

import { expect, test } from 'vitest'
import { until } from '../../../../test/servers/redis-server.mjs'
import { startProxy } from '../../../../test/servers/tcp-proxy.mjs'
import { createLimiter, fixedWindow } from '../../src/index.ts'
import { type PostgresMode, postgresStore } from '../../src/stores/postgres/postgres-store.ts'
import { CLIENTS, freshTable, realPostgres } from './real-postgres.ts'

const server = realPostgres()

const MODES: readonly PostgresMode[] = ['function', 'transaction', 'auto']

// A client of pg has one connection, which is its owner's to close.
const POOLS = ['a pool of pg', 'postgres.js']

const CASES = MODES.flatMap((mode) => POOLS.map((pool) => ({ mode, pool })))

// The cases run at the same time, so each registers its ends with its own context. The `onTestFinished` of vitest belongs to the case
// that began last, which would stop the proxy of another case when it ends.
test.concurrent.for(CASES)('mode $mode, $pool', async ({ mode, pool }, { onTestFinished }) => {
  const proxy = await startProxy(server.it.port)
  onTestFinished(() => proxy.stop())
  const { client, run, close } = await CLIENTS[pool](`postgres://postgres@127.0.0.1:${proxy.port}/postgres`)
  // Some clients wait for the end of all their connections.
  onTestFinished(() => void Promise.resolve(close()).catch(() => {}))
  await run('SELECT 1')
  const store = postgresStore(client, { mode, table: freshTable() })
  const failure = { timeoutMs: 1000, probeEveryMs: 100 }
  const limiter = createLimiter({ rules: fixedWindow({ limit: 10, window: '1h' }), store, failure })
  proxy.conditions = { loseDown: true }
  await expect(limiter.hit('ada')).rejects.toMatchObject({ code: expect.stringMatching(/^ERR_STORE_/) })
  proxy.conditions = {}
  let hits = 1
  const isAnswered = async (): Promise<boolean> => {
    hits += 1
    return (await limiter.hit('ada')).source === 'store'
  }
  await until('an answer', isAnswered, 15_000)
  // Hits that waited for the table beyond their deadline may have been counted, once each.
  expect(await limiter.get('ada')).toBeLessThanOrEqual(hits)
})
