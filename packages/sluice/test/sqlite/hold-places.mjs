// Holds places in a SQLite file, says so, and waits to be killed. Arguments: file, limit, ttl in ms, places.

import { concurrency, createLimiter, fixedWindow, holds } from 'sluice'
import { sqliteStore } from 'sluice/sqlite'
import { openSqlite } from '../../../../test/servers/sqlite-drivers.mjs'

const [file, limit, ttl, places] = process.argv.slice(2)
const limiter = createLimiter({
  rules: [
    concurrency({ limit: Number(limit), ttl: Number(ttl), name: 'places' }),
    fixedWindow({ limit: 1000, window: '1d', name: 'units' }),
  ],
  store: sqliteStore(openSqlite(file)),
  holds: holds(),
})
for (let i = 0; i < Number(places); i++) {
  const hold = limiter.reserve('ada', { hold: { units: 10 } })
  process.stdout.write(hold.allowed ? '+' : '-')
}
setInterval(() => {}, 60_000)
