// The traffic of the SQLite bench: contestants in one process take turns of some ten milliseconds, each on a file of its own. The
// machine's speed and its disk change within seconds, and neighbours in time see the same machine.

import { median, medianRatio } from '../rounds/results.mjs'

/** @import { Limiter } from './contestants.mjs' */

/** A contestant, ready to be hit. @typedef {{ name: string, isAsync: boolean, limiter: Limiter }} Entrant */

/** Numbers of laps. In a lap each contestant has a turn. @typedef {{ warmUpLaps: number, laps: number }} Timing */

/** Hits of a turn. SQLite writes its log back after about as many, so that each turn has its share of that. */
const HITS_A_TURN = 1_000

/** Prime, so that its multiples visit each key once, out of order. */
const STRIDE = 7_368_787

/**
 * Hits each of `keys` keys once.
 * @param {Entrant} entrant
 * @param {number} keys
 */
export async function fill({ isAsync, limiter }, keys) {
  for (let i = 0; i < keys; i++) {
    const answer = limiter.hit(`user:${(i * STRIDE) % keys}`)
    if (isAsync) await answer
  }
}

/**
 * Lets the contestants take turns. Returns the decisions a second of each, and for each other than the first, how many times as
 * long it took as the first: medians over the laps.
 * @param {readonly Entrant[]} entrants
 * @param {{ keys: number } & Timing} work
 */
export async function race(entrants, { keys, warmUpLaps, laps }) {
  /** @type {Map<string, number[]>} */
  const times = new Map(entrants.map(({ name }) => [name, []]))
  const walk = { state: 0x9e3779b9 | 0 }
  for (let lap = 0; lap < warmUpLaps + laps; lap++) {
    // The first contestant rotates.
    for (const [i] of entrants.entries()) {
      const { name, isAsync, limiter } = entrants[(i + lap) % entrants.length]
      const startMs = performance.now()
      const allowed = isAsync ? await asyncTurn(limiter, walk, keys) : syncTurn(limiter, walk, keys)
      const tookMs = performance.now() - startMs
      if (allowed !== HITS_A_TURN) throw new Error(`${name} denied hits that were below the limit`)
      if (lap >= warmUpLaps) times.get(name)?.push(tookMs)
    }
  }
  const first = /** @type {number[]} */ (times.get(entrants[0].name))
  return Object.fromEntries(
    [...times].flatMap(([name, ms]) => [
      [rateOf(name), (HITS_A_TURN / median(ms)) * 1000],
      [ratioTo(name), medianRatio(ms, first)],
    ]),
  )
}

/** Name of the field with the decisions a second of a contestant. @param {string} name */
export function rateOf(name) {
  return `rate of ${name}`
}

/** Name of the field with the time of a contestant, as a multiple of the first one's. @param {string} name */
export function ratioTo(name) {
  return `ratio to ${name}`
}

/**
 * @param {Limiter} limiter
 * @param {{ state: number }} walk
 * @param {number} keys
 * @returns {number} how many were allowed
 */
function syncTurn({ hit, isAllowed }, walk, keys) {
  let allowed = 0
  for (let i = 0; i < HITS_A_TURN; i++) if (isAllowed(hit(nextKey(walk, keys)))) allowed += 1
  return allowed
}

/**
 * The same loop again: an `await` in the one above would make the synchronous contestants wait for nothing.
 * @param {Limiter} limiter
 * @param {{ state: number }} walk
 * @param {number} keys
 */
async function asyncTurn({ hit, isAllowed }, walk, keys) {
  let allowed = 0
  for (let i = 0; i < HITS_A_TURN; i++) if (isAllowed(await hit(nextKey(walk, keys)))) allowed += 1
  return allowed
}

/**
 * Builds a new key string on each call, as a server does that reads it from a request.
 * @param {{ state: number }} walk
 * @param {number} keys
 */
function nextKey(walk, keys) {
  let x = walk.state
  x ^= x << 13
  x ^= x >>> 17
  x ^= x << 5
  walk.state = x
  return `user:${(x >>> 0) % keys}`
}
