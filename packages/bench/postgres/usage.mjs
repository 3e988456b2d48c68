// The work of the server so far: the CPU time of its connections, and its transactions.

import { readFileSync } from 'node:fs'

/** @import pg from 'pg' */

/** Ticks of the kernel in a second, on every Linux that Node runs on. */
const TICKS = 100

/**
 * @param {pg.Client} observer
 * @returns {Promise<{ cpuMicros: number, transactions: number }>}
 */
export async function usageOf(observer) {
  const pids = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
  const { rows } = await observer.query(pids)
  const ticks = rows.reduce((sum, { pid }) => sum + ticksOf(pid), 0)
  await observer.query('SELECT pg_stat_clear_snapshot()')
  const counts = await observer.query(
    "SELECT (xact_commit + xact_rollback)::float8 AS transactions FROM pg_stat_database WHERE datname = 'postgres'",
  )
  return { cpuMicros: (ticks * 1e6) / TICKS, transactions: counts.rows[0].transactions }
}

/** @param {number} pid */
function ticksOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return Number(fields[11]) + Number(fields[12])
}
