// The work of the server so far: its CPU time, and the statements that clients have sent, each of which is a round trip.

import { readFileSync } from 'node:fs'

/** @import { Pool } from 'mysql2' */

/** Ticks of the kernel in a second, on every Linux that Node runs on. */
const TICKS = 100

/**
 * @param {Pool} pool
 * @param {number} pid of the server
 */
export async function usageOf(pool, pid) {
  const [rows] = await pool.promise().query("SHOW GLOBAL STATUS LIKE 'Questions'")
  const [{ Value }] = /** @type {any} */ (rows)
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  const ticks = Number(fields[11]) + Number(fields[12])
  return { cpuMicros: (ticks * 1e6) / TICKS, roundTrips: Number(Value) }
}
