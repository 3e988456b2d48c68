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
  const bars = {
    [single.name]: () => [singleBar(results)],
    [batch.name]: () => [batchBar(results)],
    [resp.name]: () => resp.DEPTHS.map((depth) => respBar(results, depth)),
    [rls.name]: () => [rlsBar(results)],
    [layers.name]: () => [layersBar(results)],
  }
  return Object.entries(bars).flatMap(([task, barsOfTask]) => (results.tasks.has(task) ? barsOfTask() : []))
}

const DECISIONS = 'decisionsPerSecond'
const COMMANDS = 'commandsPerSecond'
const CPU = 'cpuMicrosADecision'

/** @param {Results} results */
function singleBar(results) {
  const { name, GROUP } = single
  const ratio = results.medianRatio([name, GROUP, 'service', DECISIONS], [name, GROUP, 'bare http', DECISIONS])
  return atLeast(1.5, ratio, { work: 'POST /v1/check, memory', unit: '×', of: ' a bare node:http server' })
}

/** @param {Results} results */
function batchBar(results) {
  const { name, GROUP, FLOOR } = batch
  const ratio = results.medianRatio([name, GROUP, '1000', DECISIONS], [name, GROUP, FLOOR, DECISIONS])
  return atLeast(10, ratio, { work: 'batches of 1,000, memory', unit: '×', of: ' requests of a bare node:http server' })
}

/**
 * @param {Results} results
 * @param {number} depth
 */
function respBar(results, depth) {
  const { name, groupOf, THROTTLE, INCR } = resp
  const ratio = results.medianRatio([name, groupOf(depth), THROTTLE, COMMANDS], [name, groupOf(depth), INCR, COMMANDS])
  return atLeast(0.6, ratio, { work: `CL.THROTTLE, ${groupOf(depth)}, memory`, unit: '×', of: " redis-server's own INCR" })
}

/** @param {Results} results */
function rlsBar(results) {
  const { name, GROUP } = rls
  const ratio = results.medianRatio([name, GROUP, 'service', DECISIONS], [name, GROUP, 'empty gRPC', DECISIONS])
  return atLeast(0.8, ratio, { work: 'Envoy RLS, memory', unit: '×', of: ' an empty gRPC service' })
}

/** @param {Results} results */
function layersBar(results) {
  const { name, GROUP } = layers
  const ratio = results.medianRatio([name, GROUP, '10000', CPU], [name, GROUP, '10', CPU])
  return atMost(1.15, ratio, { work: 'a check with layers, 10,000 policies', unit: '×', of: ' the CPU time with 10' })
}
