// Bars: bounds that a number must reach. A failed measurement (NaN) passes no bar.

import { withUnit } from './numbers.mjs'

/** @import { Table } from './table.mjs' */

/**
 * `passed` is undefined for a number that has no bound and is only shown.
 * @typedef {{ work: string, bar: string, measured: string, passed: boolean | undefined }} Bar
 */

/**
 * The text of a bar: the work it is about, the unit of its number, and the base of a multiple.
 * @typedef {{ work: string, unit: string, of: string }} BarText
 */

/**
 * @param {number} bound
 * @param {number} number
 * @param {BarText} telling
 * @returns {Bar}
 */
export function atLeast(bound, number, { work, unit, of }) {
  return { work, bar: `≥ ${shortest(bound)}${unit}${of}`, measured: withUnit(number, unit), passed: number >= bound }
}

/**
 * @param {number} bound
 * @param {number} number
 * @param {BarText} telling
 * @returns {Bar}
 */
export function atMost(bound, number, { work, unit, of }) {
  return { work, bar: `≤ ${shortest(bound)}${unit}${of}`, measured: withUnit(number, unit), passed: number <= bound }
}

/**
 * @param {number} number
 * @param {BarText} telling
 * @returns {Bar}
 */
export function shown(number, { work, unit, of }) {
  return { work, bar: `shown: ${unit}${of}`, measured: withUnit(number, unit), passed: undefined }
}

/** @param {number} bound 0.9 becomes '0.9', 1/3 becomes '0.333' */
function shortest(bound) {
  return String(Number(bound.toPrecision(3)))
}

/**
 * @param {Bar[]} bars
 * @returns {Table}
 */
export function barTable(bars) {
  return {
    title: 'Bars',
    columns: ['work', 'bar', 'measured', 'verdict'],
    rows: bars.map(({ work, bar, measured, passed }) => [
      work,
      bar,
      measured,
      passed === undefined ? '' : passed ? 'pass' : 'FAIL',
    ]),
  }
}

/** @param {Bar[]} bars */
export function verdict(bars) {
  return `${bars.filter(({ passed }) => passed === true).length} passed, ${failedBars(bars).length} failed`
}

/** @param {Bar[]} bars */
export function failedBars(bars) {
  return bars.filter(({ passed }) => passed === false)
}
