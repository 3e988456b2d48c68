// The work of the server so far: the CPU time of its connections.

import { cpuMicrosOf } from '../rounds/cpu-time.mjs'

/** @import pg from 'pg' */

/** @param {pg.Client} observer */
export async function usageOf(observer) {
  const pids = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
  const { rows } = await observer.query(pids)
  return { serverMicros: rows.reduce((sum, { pid }) => sum + cpuMicrosOf(pid), 0) }
}
