// A server that is killed in the middle of hits, and started again with its data.

import { createPool } from 'mysql2/promise'
import { expect, test } from 'vitest'
import { until } from '../../../../test/servers/redis-server.mjs'
import { createLimiter, parseRule, type SluiceError } from '../../src/index.ts'
import { mysqlStore } from '../../src/stores/mysql/mysql-store.ts'
import { freshTable, realMariadb } from './real-mariadb.ts'

const server = realMariadb()

test('every hit that was answered is there after the crash, and none is there twice', async () => {
  const pool = createPool(server.it.address)
  const table = freshTable()
  const failure = { timeoutMs: 300, failures: 1000 }
  const limiter = createLimiter({ rules: parseRule('100000/hour'), store: mysqlStore(pool, { table }), failure })
  const counts = { ok: 0, ERR_STORE_UNKNOWN: 0, ERR_STORE_REFUSED: 0, ERR_STORE_FATAL: 0 }
  let isOver = false
  const worker = async () => {
    while (!isOver) {
      const outcome = await limiter.hit('ada').then(
        () => 'ok' as const,
        (error: SluiceError) => error.code as keyof typeof counts,
      )
      counts[outcome] += 1
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
  const workers = Array.from({ length: 8 }, worker)
  await until('hits', async () => counts.ok > 50)
  await server.it.kill()
  await until('refusals', async () => counts.ERR_STORE_REFUSED > 5)
  await server.it.start()
  const before = counts.ok
  await until('hits after the restart', async () => counts.ok > before + 50)
  isOver = true
  await Promise.all(workers)
  const counted = await limiter.get('ada')
  expect(counted).toBeGreaterThanOrEqual(counts.ok)
  expect(counted).toBeLessThanOrEqual(counts.ok + counts.ERR_STORE_UNKNOWN)
  expect(counts.ERR_STORE_FATAL).toBe(0)
  await pool.end()
})
