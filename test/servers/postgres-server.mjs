// Real PostgreSQL servers for tests and benches: on loopback, on free ports, in temporary folders, stopped by their process ids.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { findPostgres } from '../../scripts/find-postgres.mjs'
import { freePort, until } from './redis-server.mjs'
import { giveTo, serverUser } from './server-user.mjs'

/** @import { ServerUser } from './server-user.mjs' */

const run = promisify(execFile)

/** Running servers. All are stopped when the program ends. @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set()
process.on('exit', () => {
  for (const child of running) child.kill('SIGQUIT')
})

/** Settings of all test servers. Nothing is synced: a test never loses power. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'off',
  autovacuum: 'off',
  max_connections: '60',
}

/** The folder with PostgreSQL's programs. */
function programs() {
  const folder = findPostgres()
  if (folder === undefined) throw new Error('PostgreSQL is not installed: run scripts/install-programs.mjs')
  return folder
}

/**
 * A folder that initdb has filled, made once on a machine and then copied. Several programs may make it at once: the first wins.
 * @param {ServerUser} user
 */
async function template(user) {
  const bin = programs()
  const parent = join(tmpdir(), `sluice-postgres-${basename(dirname(bin))}-${process.getuid?.() ?? 0}`)
  const ready = join(parent, 'template')
  if (existsSync(ready)) return ready
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(parent, 'making-'))
  giveTo(user, folder)
  const data = join(folder, 'data')
  const options = ['-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-locale', '--no-sync', '--wal-segsize=1']
  await run(join(bin, 'initdb'), ['-D', data, ...options], { cwd: folder, ...user })
  try {
    renameSync(data, ready)
  } catch (error) {
    if (!existsSync(ready)) throw error
  }
  rmSync(folder, { recursive: true, force: true })
  return ready
}

/** One server. After `crash`, `start` uses the same port and folder. */
export class PostgresServer {
  /**
   * @param {number} port
   * @param {Record<string, string>} settings
   */
  constructor(port, settings) {
    this.port = port
    this.settings = settings
    this.folder = ''
    /** @type {import('node:child_process').ChildProcess | undefined} */
    this.process = undefined
  }

  get url() {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`
  }

  async start() {
    const user = await serverUser()
    if (this.folder === '') {
      this.folder = mkdtempSync(join(tmpdir(), 'sluice-postgres-'))
      giveTo(user, this.folder)
      await run('cp', ['-a', await template(user), join(this.folder, 'data')])
    }
    const settings = Object.entries({ ...SETTINGS, ...this.settings, port: this.port })
    const args = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const child = spawn(join(programs(), 'postgres'), ['-D', join(this.folder, 'data'), ...args], {
      stdio: 'ignore',
      cwd: this.folder,
      ...user,
    })
    child.on('error', () => {})
    child.on('exit', () => running.delete(child))
    running.add(child)
    this.process = child
    await until(`postgres on port ${this.port}`, async () => {
      if (child.exitCode !== null || child.pid === undefined) throw new Error('postgres did not start')
      return (await this.query('SELECT 1')).length === 1
    })
  }

  /**
   * Runs statements on a connection of its own. Resolves to the rows of the last one.
   * @param {string} text
   * @param {{ user?: string, database?: string }} [as]
   * @returns {Promise<Record<string, any>[]>}
   */
  async query(text, { user = 'postgres', database = 'postgres' } = {}) {
    const client = new pg.Client({ host: '127.0.0.1', port: this.port, user, database })
    client.on('error', () => {})
    await client.connect()
    try {
      const results = /** @type {any} */ (await client.query(text))
      return (Array.isArray(results) ? results.at(-1) : results).rows
    } finally {
      await client.end()
    }
  }

  /** Process ids of the server and of all its connections. */
  pids() {
    const pid = this.process?.pid
    if (pid === undefined) return []
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
    return [
      pid,
      ...children
        .split(' ')
        .filter((text) => text !== '')
        .map(Number),
    ]
  }

  /**
   * Sends a signal to the server and all its connections.
   * @param {NodeJS.Signals} signal
   */
  signal(signal) {
    for (const pid of this.pids()) process.kill(pid, signal)
  }

  /** Stops the server as `pg_ctl stop -m immediate` does: it does not write anything any more, as in a crash. */
  async crash() {
    const child = this.process
    this.process = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGQUIT')
    await ended
  }

  async stop() {
    await this.crash()
    if (this.folder !== '') rmSync(this.folder, { recursive: true, force: true })
  }
}

/** @param {Record<string, string>} [settings] */
export async function startPostgres(settings = {}) {
  const server = new PostgresServer(await freePort(), settings)
  await server.start()
  return server
}
