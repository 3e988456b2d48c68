// The work of the server so far: its CPU time, and the statements that clients have sent, each of which is a round trip.

import { cpuMicrosOf } from '../rounds/cpu-time.mjs'

/** @import { Pool } from 'mysql2' */

/**
 * @param {Pool} pool
 * @param {number} pid of the server
 */
export async function usageOf(pool, pid) {
  const [rows] = await pool.promise().query("SHOW GLOBAL STATUS LIKE 'Questions'")
  const [{ Value }] = /** @type {any} */ (rows)
  return { serverMicros: cpuMicrosOf(pid), roundTrips: Number(Value) }
}
