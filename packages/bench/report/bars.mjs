// Bars: what the numbers must reach. A measurement that failed (NaN) passes no bar.

import { withUnit } from './numbers.mjs'

/** @import { Table } from './table.mjs' */

/**
 * `passed` is undefined where nothing has to be reached: such a number is only shown.
 * @typedef {{ work: string, bar: string, measured: string, passed: boolean | undefined }} Bar
 */

/**
 * How a bar is told: which work it is about, the unit of its number, and what that is a multiple of.
 * @typedef {{ work: string, unit: string, of: string }} Telling
 */

/**
 * @param {number} bound
 * @param {number} number
 * @param {Telling} telling
 * @returns {Bar}
 */
export function atLeast(bound, number, { work, unit, of }) {
  return { work, bar: `≥ ${shortest(bound)}${unit}${of}`, measured: withUnit(number, unit), passed: number >= bound }
}

/**
 * @param {number} bound
 * @param {number} number
 * @param {Telling} telling
 * @returns {Bar}
 */
export function atMost(bound, number, { work, unit, of }) {
  return { work, bar: `≤ ${shortest(bound)}${unit}${of}`, measured: withUnit(number, unit), passed: number <= bound }
}

/**
 * @param {number} number
 * @param {Telling} telling
 * @returns {Bar}
 */
export function shown(number, { work, unit, of }) {
  return { work, bar: `shown: ${unit}${of}`, measured: withUnit(number, unit), passed: undefined }
}

/** @param {number} bound 0.9 → '0.9', 1/3 → '0.333' */
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
