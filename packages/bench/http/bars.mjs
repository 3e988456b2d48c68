// The bars of the HTTP bench. The numbers to reach are written here and nowhere else in the bench.

import { atLeast } from '../report/bars.mjs'
import { ratio } from './tasks/overhead.mjs'

/** @import { Bar } from '../report/bars.mjs' */
/** @import { Results } from '../rounds/results.mjs' */
/** @import { Plan } from './http.mjs' */

/**
 * How much of a framework has to be left, and measured from where. Where a request takes so little that writing two fields by hand takes
 * most of what a limiter takes, less is left of it: the fields are what clients ask for. Where they alone take more than that, as
 * in Fastify and wherever fields are written into a Response, it is measured from a server that writes them by hand. In Hono any middleware
 * takes that much: an application without one never leaves its synchronous path.
 * @type {Record<string, { atLeastShare: number, of: string }>}
 */
const bars = {
  express: { atLeastShare: 0.9, of: 'bare' },
  nest: { atLeastShare: 0.9, of: 'bare' },
  koa: { atLeastShare: 0.85, of: 'bare' },
  node: { atLeastShare: 0.85, of: 'bare' },
  fastify: { atLeastShare: 0.85, of: 'fields by hand' },
  fetch: { atLeastShare: 0.85, of: 'fields by hand' },
  hono: { atLeastShare: 0.85, of: 'fields by hand' },
}

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Bar[]}
 */
export function httpBars({ frameworks }, results) {
  return frameworks.flatMap(({ name: framework, servers }) => {
    const work = `${framework}: requests for the same CPU time`
    const { atLeastShare, of } = bars[framework]
    const peers = servers.filter(({ role }) => role === 'peer')
    return [
      atLeast(atLeastShare, ratio(results, framework, 'sluice', of), { work, unit: '×', of: ` ${of}` }),
      ...peers.map(({ name }) => atLeast(1, ratio(results, framework, 'sluice', name), { work, unit: '×', of: ` ${name}` })),
    ]
  })
}
