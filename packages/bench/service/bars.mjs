// The bars of the service bench. They are written nowhere else in the bench.

import { atLeast, atMost } from '../report/bars.mjs'
import * as batch from './tasks/batch.mjs'
import * as layers from './tasks/layers.mjs'
import * as resp from './tasks/resp.mjs'
import * as rls from './tasks/rls.mjs'
import * as single from './tasks/single.mjs'

/** @import { Bar } from '../report/bars.mjs' */
/** @import { Results } from '../rounds/results.mjs' */
/** @import { Plan } from './service.mjs' */

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Bar[]}
 */
export function serviceBars(_plan, results) {
  const decisions = 'decisionsPerSecond'
  const toFloor = results.medianRatio(
    [single.name, single.GROUP, 'service', decisions],
    [single.name, single.GROUP, 'bare http', decisions],
  )
  const toSingle = results.medianRatio([batch.name, batch.GROUP, '1000', decisions], [batch.name, batch.GROUP, '1', decisions])
  const toEmpty = results.medianRatio([rls.name, rls.GROUP, 'service', decisions], [rls.name, rls.GROUP, 'empty gRPC', decisions])
  const cpu = 'cpuMicrosADecision'
  const toFew = results.medianRatio([layers.name, layers.GROUP, '10000', cpu], [layers.name, layers.GROUP, '10', cpu])
  const toRedis = resp.DEPTHS.map((depth) => {
    const group = resp.groupOf(depth)
    const ratio = results.medianRatio(
      [resp.name, group, resp.THROTTLE, 'commandsPerSecond'],
      [resp.name, group, resp.INCR, 'commandsPerSecond'],
    )
    const work = `CL.THROTTLE, ${depth === 1 ? 'one at a time' : `${depth} pipelined`}, memory`
    return atLeast(0.6, ratio, { work, unit: '×', of: " redis-server's own INCR" })
  })
  return [
    atLeast(1.5, toFloor, { work: 'POST /v1/check, memory', unit: '×', of: ' a bare node:http server' }),
    atLeast(10, toSingle, { work: 'batches of 1,000, memory', unit: '×', of: ' single checks, in decisions a second' }),
    ...toRedis,
    atLeast(0.8, toEmpty, { work: 'Envoy RLS, memory', unit: '×', of: ' an empty gRPC service' }),
    atMost(1.15, toFew, { work: 'a check with layers, 10,000 policies', unit: '×', of: ' the CPU time with 10' }),
  ]
}
