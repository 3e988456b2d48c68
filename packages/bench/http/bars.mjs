// The bars of the HTTP bench. The numbers to reach are written here and nowhere else in the bench.

import { atLeast, shown } from '../report/bars.mjs'
import { ratio } from './tasks/overhead.mjs'

/** @import { Bar } from '../report/bars.mjs' */
/** @import { Results } from '../rounds/results.mjs' */
/** @import { Plan } from './http.mjs' */

/**
 * How much of the bare framework has to be left. Where a request takes so little that writing the two fields by hand takes most of what
 * a limiter takes, less is left of it: the fields are what clients ask for. Beside that bar is shown how much is left of a server that
 * writes them by hand.
 * @type {Record<string, number>}
 */
const atLeastShares = { express: 0.9, nest: 0.9, koa: 0.85, node: 0.85, fastify: 0.85, fetch: 0.85, hono: 0.85 }

const byHand = 'fields by hand'

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Bar[]}
 */
export function httpBars({ frameworks }, results) {
  return frameworks.flatMap(({ name: framework, servers }) => {
    const work = `${framework}: requests for the same CPU time`
    const peers = servers.filter(({ role }) => role === 'peer')
    return [
      atLeast(atLeastShares[framework], ratio(results, framework, 'sluice', 'bare'), { work, unit: '×', of: ' bare' }),
      shown(ratio(results, framework, 'sluice', byHand), { work, unit: '×', of: ` ${byHand}` }),
      ...peers.map(({ name }) => atLeast(1, ratio(results, framework, 'sluice', name), { work, unit: '×', of: ` ${name}` })),
    ]
  })
}
