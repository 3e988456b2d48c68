// The measurements of all rounds, read as medians of numbers or as medians of ratios. A ratio is taken within a round, or within a turn
// of it, so both sides saw the same machine and its noise cancels. The median is taken over these ratios.

/** @import { Measurement } from './measure-in-child.mjs' */

/**
 * The path of a number: task, group, entrant and field.
 * @typedef {readonly [task: string, group: string, entrant: string, field: string]} Reading
 */

export class Results {
  /** @type {Map<string, Measurement[]>} */
  #measurements = new Map()

  /** @type {string[]} failed measurements, with the reason */
  failures = []

  /** Tasks that were measured. @type {Set<string>} */
  tasks = new Set()

  /**
   * @param {string} task
   * @param {string} group
   * @param {string} entrant
   * @param {Measurement} measurement
   */
  add(task, group, entrant, measurement) {
    this.tasks.add(task)
    const id = identify(task, group, entrant)
    this.#measurements.set(id, [...(this.#measurements.get(id) ?? []), measurement])
    if (measurement.failure) this.failures.push(`${task}, ${group}, ${entrant}: ${measurement.failure}`)
  }

  /**
   * One number for each round, or for each turn. NaN for a failed measurement.
   * @param {Reading} reading
   * @returns {number[]}
   */
  series([task, group, entrant, field]) {
    const measurements = this.#measurements.get(identify(task, group, entrant))
    if (measurements === undefined) throw new Error(`nothing was measured for ${task}, ${group}, ${entrant}`)
    return measurements.map(({ numbers }) => numbers[field] ?? Number.NaN)
  }

  /** @param {Reading} reading */
  median(reading) {
    return median(this.series(reading))
  }

  /**
   * @param {Reading} above
   * @param {Reading} below
   */
  medianRatio(above, below) {
    return medianRatio(this.series(above), this.series(below))
  }
}

/** @param {string[]} parts */
function identify(...parts) {
  return JSON.stringify(parts)
}

/**
 * Takes the ratio within each round, then the median of the ratios.
 * @param {number[]} above
 * @param {number[]} below
 */
export function medianRatio(above, below) {
  return median(above.map((number, round) => number / below[round]))
}

/**
 * NaN if one number is NaN: a failure in one round is a failure.
 * @param {number[]} numbers
 */
export function median(numbers) {
  if (numbers.some(Number.isNaN)) return Number.NaN
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
