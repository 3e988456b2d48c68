// A child process that reserves and settles until it is killed. It reports every hold and every settle to its parent. Uses the built
// package, as applications do.

import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import pg from 'pg'
import { concurrency, createLimiter, fixedWindow, holds } from 'sluice'
import { postgresStore } from 'sluice/postgres'
import { redisStore } from 'sluice/redis'

/** @import { HolderOptions, HolderReport } from './killed-holders.slow.test.ts' */

/** @type {HolderOptions} */
const { server, name, mode, limit, places, ttlMs, units, loops } = JSON.parse(process.argv[2])

const store =
  server.kind === 'redis'
    ? redisStore(new Redis(server.port, '127.0.0.1'), { prefix: name })
    : postgresStore(new pg.Pool({ connectionString: server.url }), { table: name, ...(mode !== undefined && { mode }) })
const limiter = createLimiter({
  rules: [concurrency({ limit: places, ttl: ttlMs, name: 'places' }), fixedWindow({ limit, window: '1h', name: 'tokens' })],
  store,
  holds: holds(),
  failure: { timeoutMs: 20_000 },
})

let last = 0

async function work() {
  for (;;) {
    const hold = await limiter.reserve('k', { hold: { tokens: units }, ttl: ttlMs })
    if (!hold.allowed) {
      await pause(1 + Math.random() * 5)
      continue
    }
    last += 1
    const id = last
    await report({ event: 'held', id, fromMs: hold.expiresAt - ttlMs, untilMs: hold.expiresAt })
    await pause(Math.random() * 10)
    const used = Math.floor(Math.random() * (units + 1))
    // Reported before the hold ends: a process that is killed in between has given its place back all the same.
    await report({ event: 'ending', id, untilMs: Date.now() })
    try {
      await hold.settle({ tokens: used })
      await report({ event: 'settled', used })
    } catch (error) {
      if (/** @type {{ code?: string }} */ (error).code !== 'ERR_HOLD') throw error
      await report({ event: 'settled', used: units })
    }
  }
}

/**
 * Resolves when the parent has the report, or will read it.
 * @param {HolderReport} event
 * @returns {Promise<void>}
 */
function report(event) {
  return new Promise((resolve) => process.send?.(event, () => resolve()))
}

process.on('disconnect', () => process.exit())
for (let i = 0; i < loops; i++) void work()
