// A process that takes the lock of a file of SQLite and writes, and commits nothing. It ends when its input ends, or when it is killed.

import { openSqlite } from './sqlite-drivers.mjs'

const database = openSqlite(process.argv[2])
database.exec('PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE; CREATE TABLE half_written (n); INSERT INTO half_written VALUES (1)')
process.stdout.write('locked')
// The listener also keeps the connection, which would be closed if nothing referred to it.
process.stdin.on('end', () => database.close()).resume()
