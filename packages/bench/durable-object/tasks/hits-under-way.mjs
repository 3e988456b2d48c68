// Decisions through a Worker: one request of HTTP for each hit, the same fixed window, allowed hits.

import { cpuMicrosOf } from '../../rounds/cpu-time.mjs'
import { KEYS } from '../../rounds/hits.mjs'
import { columnsTo, measureUnderWay, name, readingIn, rowsOf } from '../../rounds/hits-under-way.mjs'
import { openContestant } from '../contestants.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Timing } from '../../rounds/hits.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Place, Plan } from '../durable-object.mjs' */

export { name }
export const file = import.meta.url

const GROUP = 'workerd'
export const reading = readingIn(GROUP)

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ contestants, timing, place }) {
  return [{ name: GROUP, entrants: contestants.map(({ name }) => ({ name, params: { contestant: name, timing, place } })) }]
}

/** @param {{ contestant: string, timing: Timing, place: Place }} params */
export async function measure({ contestant, timing, place: { url, pid } }) {
  const limiter = openContestant(url, contestant)
  const usage = async () => ({ serverMicros: cpuMicrosOf(pid) })
  const numbers = await measureUnderWay({ contestant, limiter, timing, usage })
  limiter.close()
  return numbers
}

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Table}
 */
export function table({ contestants }, results) {
  const [{ name: floor }] = contestants.filter(({ role }) => role === 'floor')
  return {
    title: 'Decisions through a Worker, one request of HTTP for each',
    note: `Over ${KEYS.toLocaleString('en')} keys in one object, in workerd. The storage is in memory where the system has a folder for that. Server CPU is that of workerd: the Worker and the object.`,
    columns: columnsTo(floor),
    rows: rowsOf({ contestants, base: floor, results, reading }),
  }
}
