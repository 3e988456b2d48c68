// Real MariaDB servers for tests and benches: on loopback, on free ports, in temporary folders, stopped by their process ids.
// SLUICE_MYSQLD names the server program of a MySQL, which is used instead.

import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createConnection } from 'mysql2/promise'
import { freePort, until } from './redis-server.mjs'
import { ServerProcess } from './server-process.mjs'

/** A server takes a second to start, and several on a busy machine. */
const STARTS_WITHIN_MS = 30_000

const MYSQLD = process.env.SLUICE_MYSQLD
const PROGRAM = MYSQLD ?? 'mariadbd'

/** True if the servers are MySQL. */
export const IS_MYSQL = MYSQLD !== undefined

/** The server refuses to run as root unless it is asked to. */
const AS_ROOT = process.getuid?.() === 0 ? ['--user=root'] : []

/** Small files, so that a folder is copied quickly. */
const SMALL = IS_MYSQL
  ? ['--innodb-redo-log-capacity=32M', '--mysqlx=OFF', '--skip-log-bin']
  : ['--innodb-log-file-size=8M', '--innodb-data-file-path=ibdata1:4M:autoextend']

/** Users: `app` may do everything in the database `app`, and `admin` everything. */
const INIT = `CREATE DATABASE IF NOT EXISTS app;
CREATE USER IF NOT EXISTS app@'%';
GRANT ALL ON app.* TO app@'%';
CREATE USER IF NOT EXISTS admin@'%';
GRANT ALL ON *.* TO admin@'%' WITH GRANT OPTION;
`

/**
 * Returns a folder with a new database. Making one takes seconds, so it is made once for each version, and copied.
 */
async function template() {
  const { stdout } = await promisify(execFile)(PROGRAM, ['--version'])
  const version = /\d+\.\d+\.\d+/.exec(stdout)?.[0]
  const folder = join(tmpdir(), `sluice-mariadb-${version}-${process.getuid?.() ?? 0}`)
  if (existsSync(folder)) return folder
  const made = mkdtempSync(join(tmpdir(), 'sluice-mariadb-new-'))
  const [program, ...how] = IS_MYSQL
    ? [PROGRAM, '--no-defaults', '--initialize-insecure']
    : ['mariadb-install-db', '--no-defaults', '--auth-root-authentication-method=normal', '--skip-test-db']
  await promisify(execFile)(program, [...how, `--datadir=${made}`, ...AS_ROOT, ...SMALL])
  try {
    renameSync(made, folder)
  } catch {
    // Another process was faster.
    rmSync(made, { recursive: true, force: true })
  }
  return folder
}

/** One server. After `kill`, `start` uses the same port and folder, and the same data. */
export class MariadbServer extends ServerProcess {
  /**
   * @param {number} port
   * @param {readonly string[]} args
   */
  constructor(port, args) {
    super('mariadb')
    this.port = port
    this.args = args
    /** The time zone SYSTEM, in the form of POSIX. */
    this.timeZone = 'UTC0'
  }

  /** Options of a client of mysql2. */
  get address() {
    return { host: '127.0.0.1', port: this.port, user: 'app', database: 'app' }
  }

  /**
   * Runs statements as a user who may do everything. Resolves to the rows of the last one, by the names of their columns.
   * @param {...string} statements
   * @returns {Promise<Record<string, any>[]>}
   */
  async admin(...statements) {
    const connection = await createConnection({ ...this.address, user: 'admin' })
    try {
      let rows
      for (const statement of statements) [rows] = await connection.query(statement)
      return /** @type {any} */ (rows)
    } finally {
      connection.destroy()
    }
  }

  /** Number of deadlocks since the start. */
  async deadlocks() {
    const [{ n }] = await this.admin("SELECT COUNT AS n FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks'")
    return Number(n)
  }

  /** Number of transactions that wait for a lock. INNODB_TRX would be a copy, which is not renewed while it is read often. */
  async lockWaits() {
    const [{ Value: waits }] = await this.admin("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'")
    return Number(waits)
  }

  async start() {
    const data = join(this.folder, 'data')
    if (!existsSync(data)) {
      cpSync(await template(), data, { recursive: true })
      writeFileSync(join(this.folder, 'init.sql'), INIT)
    }
    const where = [`--datadir=${data}`, `--socket=${this.folder}/socket`, '--bind-address=127.0.0.1', `--port=${this.port}`]
    const how = ['--skip-name-resolve', '--innodb-buffer-pool-size=64M', `--init-file=${this.folder}/init.sql`]
    const args = ['--no-defaults', ...where, ...how, ...AS_ROOT, ...SMALL, ...this.args]
    const child = this.launch(PROGRAM, args, { env: { ...process.env, TZ: this.timeZone } })
    const isUp = async () => {
      if (child.exitCode !== null || child.pid === undefined) throw new Error(`${PROGRAM} did not start`)
      await this.admin('SELECT 1')
      return true
    }
    await until(`${PROGRAM} on port ${this.port}`, isUp, STARTS_WITHIN_MS)
  }
}

/** @param {readonly string[]} args of mariadbd */
export async function startMariadb(...args) {
  const server = new MariadbServer(await freePort(), args)
  await server.start()
  return server
}
