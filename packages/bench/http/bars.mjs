// The bars of the HTTP bench. The numbers to reach are written here and nowhere else in the bench.

import { atLeast, shown } from '../report/bars.mjs'
import { ratio } from './tasks/overhead.mjs'

/** @import { Bar } from '../report/bars.mjs' */
/** @import { Results } from '../rounds/results.mjs' */
/** @import { Plan } from './http.mjs' */

/** Share of a server's requests that is left when a limiter writes its fields, compared with the same fields written by hand. */
const LEAST_OF_FLOOR = 0.92

/** Requests of ours for each request of the framework's own limiter. */
const LEAST_OF_PEER = 1.05

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Bar[]}
 */
export function httpBars({ frameworks }, results) {
  return frameworks.flatMap(({ name: framework, servers }) => {
    const work = `${framework}: requests for the same CPU time`
    return servers.flatMap(({ name, role }) => {
      if (role === 'sluice') return []
      const measured = ratio(results, framework, 'sluice', name)
      const telling = { work, unit: '×', of: ` ${name}` }
      if (role === 'floor') return atLeast(LEAST_OF_FLOOR, measured, telling)
      if (role === 'peer') return atLeast(LEAST_OF_PEER, measured, telling)
      return shown(measured, telling)
    })
  })
}
