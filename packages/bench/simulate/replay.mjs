// A whole simulation of a file, as the command runs it, without the report.

import { Readable } from 'node:stream'
import { openLogs } from '../../server/dist/simulate/reading/open-logs.js'
import { readLogs } from '../../server/dist/simulate/reading/read-logs.js'
import { LogClock } from '../../server/dist/simulate/replay/log-clock.js'
import { bookOf } from '../../server/dist/simulate/replay/policy-books.js'
import { Simulation } from '../../server/dist/simulate/replay/simulation.js'

/** @import { PolicySpec } from 'sluice-server' */

/** @type {PolicySpec[]} */
const POLICIES = [
  { name: 'api', route: '/v1/*', rules: '60/minute', scope: 'policy' },
  { name: 'login', route: '/login', rules: '5/minute' },
  { name: 'default', rules: '100/minute', scope: 'policy' },
]

/**
 * @param {string} file
 * @param {boolean} findsLimits
 */
export async function replay(file, findsLimits) {
  const clock = new LogClock()
  const simulation = new Simulation({ clock, proposed: bookOf(POLICIES, clock), findsLimits })
  const options = { mapping: {}, delimiter: ',', hasHeading: true, reorderMs: 0, sinceMs: 0, untilMs: Number.POSITIVE_INFINITY }
  const logs = await openLogs([file], Readable.from([]))
  await readLogs(logs, { ...options, onBytes: () => {} }, (entry) => simulation.replay(entry))
  simulation.close()
  return simulation.requests
}
