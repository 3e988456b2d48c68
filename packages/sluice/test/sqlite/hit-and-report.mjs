// A child process that hits until it is killed. It writes a byte to file descriptor 3 after each allowed answer.

import { writeSync } from 'node:fs'
import { createLimiter, fixedWindow, tokenBucket } from 'sluice'
import { sqliteStore } from 'sluice/sqlite'
import { openSqlite } from '../../../../test/servers/sqlite-drivers.mjs'

const [file, limit] = process.argv.slice(2)
const store = sqliteStore(openSqlite(file), { busyTimeoutMs: 20_000 })
const limiter = createLimiter({
  rules: [
    fixedWindow({ limit: Number(limit), window: '1h', name: 'window' }),
    tokenBucket({ capacity: Number(limit), refill: 1, every: '1h', name: 'bucket' }),
  ],
  store,
})
// New keys and sweeps are under way too, when the process is killed.
for (let i = 0; ; i++) {
  if (limiter.hit('ada').allowed) report()
  limiter.hit(`${process.pid}:${i}`)
}

function report() {
  for (;;) {
    try {
      writeSync(3, '.')
      return
    } catch (error) {
      if (/** @type {{ code?: unknown }} */ (error).code !== 'EAGAIN') throw error
    }
  }
}
