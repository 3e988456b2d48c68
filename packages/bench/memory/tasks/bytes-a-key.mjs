// Bytes a key: what the process holds more than before the limiter was made, once every key has been hit once.
// The caller keeps no key, so a contestant that keeps the strings pays for them.

import { LARGE_QUOTA } from '../../quota.mjs'
import { keyCount, threeDigits, times } from '../../report/numbers.mjs'
import { loadContestant } from '../contestants.mjs'
import { assertHolds, fill } from '../traffic.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Plan } from '../memory.mjs' */

export const name = 'bytes a key'
export const file = import.meta.url

const KEYS = 1_000_000
export const GROUP = keyCount(KEYS)

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ contestants }) {
  const entrants = contestants.map(({ name }) => ({ name, params: { contestant: name } }))
  return [{ name: GROUP, entrants, nodeFlags: ['--expose-gc'] }]
}

/** @param {{ contestant: string }} params */
export async function measure({ contestant }) {
  const { create, isAsync } = await loadContestant(contestant)
  const before = heldBytes()
  const limiter = create({ ...LARGE_QUOTA, keys: KEYS })
  await fill(limiter, isAsync, KEYS)
  const held = heldBytes() - before
  // Asked after the count, so the limiter was alive while it was taken.
  assertHolds(limiter, KEYS)
  return { bytesAKey: held / KEYS }
}

/** Heap and buffers in use after a full collection. `external` contains `arrayBuffers`. */
export function heldBytes() {
  const collect = globalThis.gc
  if (collect === undefined) throw new Error('needs node --expose-gc')
  collect()
  // Once more for what the first one only marked as unreachable, such as the memory behind buffers.
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Table}
 */
export function table({ contestants }, results) {
  return {
    title: `Bytes a key, at ${GROUP}`,
    note: 'Heap and buffers after a full collection. The caller holds no key.',
    columns: ['contestant', 'bytes a key', 'times the bytes of sluice'],
    rows: contestants.map((contestant) => [
      contestant.name,
      threeDigits(results.median([name, GROUP, contestant.name, 'bytesAKey'])),
      times(results.medianRatio([name, GROUP, contestant.name, 'bytesAKey'], [name, GROUP, 'sluice', 'bytesAKey'])),
    ]),
  }
}
