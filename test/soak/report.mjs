// The table and the result at the end of a soak.

import { tableAsText } from '../../packages/bench/report/table.mjs'
import { isTooShort, keepsGrowing } from './memory.mjs'
import { FAULT_NAMES } from './schedule.mjs'
import { SPREADS_WITHIN_MS } from './spread.mjs'

/** @import { runSoak } from './run-soak.mjs' */

/** @typedef {Awaited<ReturnType<typeof runSoak>>} Outcome */
/** @typedef {{ what: string, value: string, bound?: string, isWrong?: boolean, isUnknown?: boolean }} Row */

/** Largest time of a decision outside faults. Time that the machine took is not counted. */
const ANSWERS_WITHIN_MS = 1000

/**
 * @param {Outcome} outcome
 * @param {{ minutes: number, seed: number, store: string, faults: readonly string[] }} request
 */
export function report(outcome, { minutes, seed, store, faults }) {
  const { soak } = outcome
  const rows = [...trafficRows(outcome), ...faultRows(outcome), ...memoryRows(outcome)]
  const table = tableAsText({
    title: `Soak of ${minutesAsText(minutes)} on ${store}, seed ${seed}`,
    columns: ['what', 'value', 'bound', 'result'],
    rows: rows.map((row) => [row.what, row.value, row.bound ?? '', resultOf(row)]),
  })
  const { printed, wrong } = soak.phases
  const more = wrong.answer + wrong.change - printed.length
  const complaints = [...printed, ...(more > 0 ? [`and ${more} more`] : [])]
  const isPassed = rows.every(({ isWrong }) => isWrong !== true)
  const only = faults.length === FAULT_NAMES.length ? '' : faults.map((name) => ` --only ${name}`).join('')
  const again = `npm run soak -- --store ${store} --minutes ${minutes} --seed ${seed}${only}`
  const last = isPassed ? 'passed' : `failed: ${again} has the same schedule`
  return { isPassed, text: ['', table, ...complaints, last].join('\n') }
}

/** @param {number} minutes */
export function minutesAsText(minutes) {
  return `${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`
}

/** @param {Row} row */
function resultOf({ isWrong, isUnknown = false }) {
  if (isWrong === undefined) return ''
  if (isWrong) return 'FAIL'
  return isUnknown ? 'too short to tell' : 'pass'
}

/** @param {Outcome} outcome @returns {Row[]} */
function trafficRows({ soak, tookMs }) {
  const { phases } = soak
  const perSecond = Math.round((soak.checks * 1000) / tookMs)
  return [
    { what: 'requests', value: String(soak.requests) },
    { what: 'checks', value: `${soak.checks} (${perSecond} a second)` },
    { what: 'wrong answers', ...atMost(phases.wrong.answer, 0) },
    { what: 'acknowledged changes', value: String(soak.acknowledged) },
    { what: 'acknowledged changes lost or late', ...atMost(phases.wrong.change, 0) },
    { what: 'slowest change to reach the other instance, ms', ...within(soak.worstSpread, SPREADS_WITHIN_MS) },
    { what: 'worst answer outside faults, ms', ...within(soak.worstCalm, ANSWERS_WITHIN_MS) },
    { what: 'worst answer in faults, ms', value: soak.worstFault.measuredMs.toFixed(0) },
    { what: 'answers lost with killed instances', value: String(soak.lostToKills) },
    { what: 'calls without the store outside faults', value: String(phases.withoutStore) },
    { what: 'complaints that the busy machine explains', value: String(phases.excused) },
  ]
}

/** @param {Outcome} outcome @returns {Row[]} */
function faultRows({ soakRun }) {
  const faults = [...soakRun.faultsByName].map(([name, times]) => ({ what: `fault: ${name}`, value: String(times) }))
  return [...faults, { what: 'slowest recovery, ms', value: soakRun.worstRecoveryMs.toFixed(0) }]
}

/** @param {Outcome} outcome @returns {Row[]} */
function memoryRows({ memory, soak }) {
  return ['store', 'a', 'b'].flatMap((name) => {
    const processes = memory.processes(name)
    const of = name === 'store' ? soak.fleet.store.name : `instance ${name}`
    const first = processes[0]
    const last = processes[processes.length - 1]
    if (last === undefined) return []
    const used = name === 'store' ? 'data' : 'heap'
    return [
      { what: `${of}: resident at start, end, MB`, value: startAndEnd(first.rss, last.rss), ...levelsOff(processes, 'rss') },
      { what: `${of}: ${used} at start, end, MB`, value: startAndEnd(first.used, last.used), ...levelsOff(processes, 'used') },
    ]
  })
}

/**
 * @param {number} value
 * @param {number} bound
 */
function atMost(value, bound) {
  return { value: value.toFixed(0), bound: String(bound), isWrong: value > bound }
}

/**
 * A time and its bound. The part that the machine took is not counted against the bound.
 * @param {import('./soak-context.mjs').Worst} worst
 * @param {number} bound
 */
function within({ measuredMs, ownMs }, bound) {
  const machine = measuredMs > bound ? ` (${ownMs.toFixed(0)} without the machine's)` : ''
  return { value: `${measuredMs.toFixed(0)}${machine}`, bound: String(bound), isWrong: ownMs > bound }
}

/**
 * @param {readonly number[]} first
 * @param {readonly number[]} last
 */
function startAndEnd(first, last) {
  const inMb = (/** @type {number | undefined} */ bytes) => (bytes === undefined ? '?' : (bytes / 2 ** 20).toFixed(0))
  return `${inMb(first[0])}, ${inMb(last.at(-1))}`
}

/**
 * @param {readonly import('./memory.mjs').ProcessMemory[]} processes
 * @param {'rss' | 'used'} series
 */
export function levelsOff(processes, series) {
  const isWrong = processes.some((one) => keepsGrowing(one[series]))
  return { bound: 'levels off', isWrong, isUnknown: processes.every((one) => isTooShort(one[series])) }
}
