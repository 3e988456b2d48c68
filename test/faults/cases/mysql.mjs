// Faults of a MariaDB: it dies and keeps its data, is silent, loses connections and answers, holds locks, refuses writes.

import { setTimeout as pause } from 'node:timers/promises'
import { createConnection } from 'mysql2/promise'
import { untilAnswered, untilCounted } from '../held-faults.mjs'
import { mariadbBehindProxy, noMariadb, tableOf } from '../mysql-environments.mjs'

/** @import { Fault } from '../run-fault.mjs' */
/** @import { TargetOptions } from '../target.mjs' */

/** @typedef {Fault<Awaited<ReturnType<typeof mariadbBehindProxy>>>} MysqlFault */

/** @type {readonly TargetOptions[]} */
const TARGETS = [
  { client: 'mysql2', then: 'local', processes: 2 },
  { client: 'mysql2', then: 'allow' },
  { client: 'mysql2', then: 'deny' },
  { client: 'mysql2', then: 'throw' },
]

const FOR_MS = 700

/** Common parts of all faults. The first hits connect, and make a table each. */
const ANY = { targets: TARGETS, startEnvironment: () => mariadbBehindProxy(), perSecond: 200, warmUpMs: 1000 }

/**
 * Calls fail until the breaker opens. Chance decides how: a call whose COMMIT was sent times out, because it may have counted. One that had
 * not come so far is refused.
 * @type {MysqlFault['expects']}
 */
const FAILS_ANYHOW = { fatal: 'none', 'not-asked': 'some', recovered: 'some' }

/** @type {MysqlFault} */
export const mysqlSigkill = {
  ...ANY,
  name: 'mysql-sigkill',
  what: 'SIGKILL, and 500 ms later a server with the same data',
  async inject({ server }) {
    await server.kill()
    await pause(500)
    await server.start()
  },
  expects: { refused: 'some', fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}

/**
 * @param {number} forMs
 * @returns {MysqlFault}
 */
export function mysqlSigstop(forMs) {
  return {
    ...ANY,
    name: 'mysql-sigstop',
    what: `SIGSTOP, and SIGCONT after ${forMs} ms`,
    async inject({ server }, targets) {
      await untilAnswered(targets)
      server.signal('SIGSTOP')
      await Promise.all([pause(forMs), untilCounted(targets, 'not-asked')])
      server.signal('SIGCONT')
    },
    expects: FAILS_ANYHOW,
  }
}

/** @type {MysqlFault} */
export const mysqlKill = {
  ...ANY,
  name: 'mysql-kill',
  what: 'KILL of all connections, three times',
  async inject({ server }) {
    for (let i = 0; i < 3; i++) {
      const threads = await server.admin("SELECT ID AS id FROM information_schema.PROCESSLIST WHERE USER = 'app'")
      await server.admin(...threads.map(({ id }) => `KILL ${id}`)).catch(() => {})
      await pause(300)
    }
  },
  expects: { fatal: 'none' },
}

/** @type {MysqlFault} */
export const mysqlLostReplies = {
  ...ANY,
  name: 'mysql-lost-replies',
  what: 'hits are counted and their answers lost; then the connections are reset',
  async inject({ proxy }, targets) {
    await untilAnswered(targets)
    proxy.conditions = { loseDown: true }
    await Promise.all([pause(FOR_MS), untilCounted(targets, 'not-asked')])
    proxy.conditions = {}
    proxy.reset()
  },
  expects: FAILS_ANYHOW,
}

/** @type {MysqlFault} */
export const mysqlLock = {
  ...ANY,
  name: 'mysql-lock',
  what: 'somebody else holds the locks of all rows',
  async inject({ server }, targets) {
    const other = await createConnection(server.address)
    try {
      await other.beginTransaction()
      for (const { prefix } of targets) await other.query(`SELECT * FROM ${tableOf(prefix)} FOR UPDATE`)
      await pause(FOR_MS)
    } finally {
      other.destroy()
    }
  },
  // A call whose deadline comes while it waits for a lock has certainly not counted.
  expects: { timeout: 'none', refused: 'some', unknown: 'none', fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}

/** @type {MysqlFault} */
export const mysqlReadonly = {
  ...ANY,
  name: 'mysql-readonly',
  what: 'the server is set to read_only, and back',
  async inject({ server }) {
    await server.admin('SET GLOBAL read_only = 1')
    await pause(FOR_MS)
    await server.admin('SET GLOBAL read_only = 0')
  },
  expects: { refused: 'some', unknown: 'none', fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}

/** @type {MysqlFault} */
export const mysqlLateStart = {
  ...ANY,
  name: 'mysql-late-start',
  what: 'no server at first; it comes after a second',
  startEnvironment: noMariadb,
  async inject({ server }) {
    await server.start()
  },
  expects: { refused: 'some', fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}
