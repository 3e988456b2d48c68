// The bars of the memory bench. The numbers to reach are written here and nowhere else in the bench.

import { atLeast, atMost } from '../report/bars.mjs'
import { keyCount } from '../report/numbers.mjs'
import { median, medianRatio } from '../rounds/results.mjs'
import * as bytesAKey from './tasks/bytes-a-key.mjs'
import * as flood from './tasks/flood.mjs'
import * as hitRate from './tasks/hit-rate.mjs'
import * as holds from './tasks/holds.mjs'
import * as meters from './tasks/meters.mjs'
import * as severalRules from './tasks/several-rules.mjs'
import * as worstHit from './tasks/worst-hit.mjs'

/** @import { Bar } from '../report/bars.mjs' */
/** @import { Results } from '../rounds/results.mjs' */
/** @import { Plan } from './memory.mjs' */

const FLOOR = 'bare-map'

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Bar[]}
 */
export function memoryBars(plan, results) {
  const bars = {
    [hitRate.name]: () => [
      ...hitRateBars(plan, results, { keys: 1_000_000, atLeastPeers: 4, atLeastFloor: 3 }),
      ...hitRateBars(plan, results, { keys: 1_000, atLeastPeers: 1.5, atLeastFloor: 0.9 }),
      ...hitRateBars(plan, results, { keys: 1, atLeastPeers: 1.5, atLeastFloor: 0.9 }),
    ],
    [bytesAKey.name]: () => bytesBars(plan, results, { atMostBytes: 56, atMostPeers: 1 / 3 }),
    [worstHit.name]: () => [worstHitBar(results, { atMostFloor: 1 / 10 })],
    [flood.name]: () => floodBars(results, { atLeastBefore: 0.5, atMostMs: 5 }),
    [meters.name]: () => meterBars(results, { atMostFixedWindow: 1.15, atMostBytes: 64 }),
    [severalRules.name]: () => [severalRulesBar(results, { keys: 1_000, rules: 4, atMostOneRule: 3 })],
    [holds.name]: () => holdsBars(results, { atMostHit: 3 }),
  }
  return Object.entries(bars).flatMap(([task, barsOfTask]) => (results.tasks.has(task) ? barsOfTask() : []))
}

/**
 * @param {Plan} plan
 * @param {Results} results
 * @param {{ keys: number, atLeastPeers: number, atLeastFloor: number }} bar
 */
function hitRateBars(plan, results, { keys, atLeastPeers, atLeastFloor }) {
  const group = keyCount(keys)
  const rates = (/** @type {string} */ contestant) => results.series([hitRate.name, group, contestant, 'hitsPerSecond'])
  const fastest = bestPeer(plan, rates, Math.max)
  const work = `hit, ${group}`
  const toPeers = { work, unit: '×', of: ` the fastest peer (${fastest.name})` }
  const toFloor = { work, unit: '×', of: ' the bare Map' }
  return [
    atLeast(atLeastPeers, medianRatio(rates('sluice'), fastest.rounds), toPeers),
    atLeast(atLeastFloor, medianRatio(rates('sluice'), rates(FLOOR)), toFloor),
  ]
}

/**
 * @param {Plan} plan
 * @param {Results} results
 * @param {{ atMostBytes: number, atMostPeers: number }} bar
 */
function bytesBars(plan, results, { atMostBytes, atMostPeers }) {
  const { name, GROUP: group } = bytesAKey
  const bytes = (/** @type {string} */ contestant) => results.series([name, group, contestant, 'bytesAKey'])
  const leanest = bestPeer(plan, bytes, Math.min)
  const work = `bytes a key, ${group}`
  const toPeers = { work, unit: '×', of: ` the leanest peer (${leanest.name})` }
  return [
    atMost(atMostBytes, median(bytes('sluice')), { work, unit: '', of: '' }),
    atMost(atMostPeers, medianRatio(bytes('sluice'), leanest.rounds), toPeers),
  ]
}

/**
 * @param {Results} results
 * @param {{ atMostFloor: number }} bar
 */
function worstHitBar(results, { atMostFloor }) {
  const { name, GROUP: group } = worstHit
  const ratio = results.medianRatio([name, group, 'sluice', 'worstMs'], [name, group, FLOOR, 'worstMs'])
  return atMost(atMostFloor, ratio, { work: `worst hit, ${group}`, unit: '×', of: " the bare Map's worst" })
}

/**
 * @param {Results} results
 * @param {{ atLeastBefore: number, atMostMs: number }} bar
 */
function floodBars(results, { atLeastBefore, atMostMs }) {
  return flood.floods.flatMap(({ group, entrant }) => {
    const work = `only new keys past ${group}, states of ${entrant}`
    const read = (/** @type {string} */ field) => results.median([flood.name, group, entrant, field])
    return [
      atLeast(atLeastBefore, read('ratio'), { work, unit: '×', of: ' the rate before the bound' }),
      atMost(atMostMs, read('worstMs'), { work: `worst hit, ${work}`, unit: ' ms', of: '' }),
    ]
  })
}

/**
 * @param {Results} results
 * @param {{ atMostFixedWindow: number, atMostBytes: number }} bar
 */
function meterBars(results, { atMostFixedWindow, atMostBytes }) {
  const { name, bytesGroup, timeGroups } = meters
  return meters.meters.flatMap((rule) => [
    ...timeGroups.map((group) =>
      atMost(atMostFixedWindow, results.median([name, group, rule, 'ratio']), {
        work: `time of ${rule}, ${group}`,
        unit: '×',
        of: ' the fixed window',
      }),
    ),
    atMost(atMostBytes, results.median([name, bytesGroup, rule, 'bytesAKey']), {
      work: `${rule}, ${bytesGroup}`,
      unit: '',
      of: '',
    }),
  ])
}

/**
 * @param {Results} results
 * @param {{ keys: number, rules: number, atMostOneRule: number }} bar
 */
function severalRulesBar(results, { keys, rules, atMostOneRule }) {
  const group = keyCount(keys)
  const read = (/** @type {number} */ count) => /** @type {const} */ ([severalRules.name, group, String(count), 'hitsPerSecond'])
  const ratio = results.medianRatio(read(1), read(rules))
  return atMost(atMostOneRule, ratio, { work: `time of ${rules} rules, ${group}`, unit: '×', of: ' one rule' })
}

/**
 * @param {Results} results
 * @param {{ atMostHit: number }} bar
 */
function holdsBars(results, { atMostHit }) {
  return holds.groupNames.map((group) =>
    atMost(atMostHit, results.median([holds.name, group, holds.ENTRANT, 'ratio']), {
      work: `time of ${holds.ENTRANT}, ${group}`,
      unit: '×',
      of: ' a hit',
    }),
  )
}

/**
 * The best peer of each round, whoever that was, and the name of the one that is best by its median. A peer that
 * failed makes this NaN: nobody passes a bar because the other side broke.
 * @param {Plan} plan
 * @param {(contestant: string) => number[]} series
 * @param {(...numbers: number[]) => number} best
 */
function bestPeer({ contestants }, series, best) {
  const peers = contestants.filter(({ role }) => role === 'peer').map(({ name }) => ({ name, numbers: series(name) }))
  const bestMedian = best(...peers.map(({ numbers }) => median(numbers)))
  return {
    name: peers.find(({ numbers }) => median(numbers) === bestMedian)?.name ?? 'one failed',
    rounds: peers[0].numbers.map((_, round) => best(...peers.map(({ numbers }) => numbers[round]))),
  }
}
