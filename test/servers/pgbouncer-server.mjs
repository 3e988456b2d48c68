// A real PgBouncer in transaction mode, in front of a PostgreSQL server.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { freePort, until } from './redis-server.mjs'
import { giveTo, serverUser } from './server-user.mjs'

/** Running servers. All are killed when the program ends. @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/**
 * @param {number} postgresPort
 * @param {{ poolSize?: number }} [options] `poolSize` connections to Postgres, which all clients share
 */
export async function startPgbouncer(postgresPort, { poolSize = 3 } = {}) {
  const user = await serverUser()
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'sluice-pgbouncer-'))
  const config = join(folder, 'pgbouncer.ini')
  const users = join(folder, 'users.txt')
  writeFileSync(users, '"postgres" ""\n')
  writeFileSync(
    config,
    `[databases]
postgres = host=127.0.0.1 port=${postgresPort} dbname=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 200
`,
  )
  giveTo(user, folder, config, users)
  const child = spawn('pgbouncer', ['-q', config], { stdio: 'ignore', cwd: folder, ...user })
  child.on('error', () => {})
  child.on('exit', () => running.delete(child))
  running.add(child)
  await until(`pgbouncer on port ${port}`, async () => {
    if (child.exitCode !== null || child.pid === undefined) throw new Error('pgbouncer did not start')
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' })
    client.on('error', () => {})
    await client.connect()
    await client.end()
    return true
  })
  return {
    port,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, 'exit')
        child.kill('SIGKILL')
        await ended
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
