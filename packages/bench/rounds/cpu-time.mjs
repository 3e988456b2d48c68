// The CPU time of a process, as Linux counts it.

import { readFileSync } from 'node:fs'

/** Ticks of the kernel in a second, on every Linux that Node runs on. */
const TICKS = 100

/**
 * User and system time so far, in microseconds.
 * @param {number} pid
 */
export function cpuMicrosOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1e6) / TICKS
}
