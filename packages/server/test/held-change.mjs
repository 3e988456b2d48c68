// Stops itself in the middle of a change, while it has the lock of writers in PostgreSQL. The address is the first argument.

import { PostgresDriver } from '../dist/backends/postgres/postgres-driver.js'
import { ask } from '../dist/backends/sql/sql-program.js'

function* change() {
  yield* ask('SELECT 1 AS held')
  process.kill(process.pid, 'SIGSTOP')
  yield* ask('SELECT 2')
}

await new PostgresDriver({ connectionString: process.argv[2] }, () => {}).transact('write', change)
