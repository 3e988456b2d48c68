// The traffic of the memory bench: who hits, in which order. Every call builds its key string anew, as a server
// does that reads it from a request, so no string carries a hash that an earlier call has computed.

/** @import { TurnTaker } from '../rounds/measure-in-turns.mjs' */
/** @import { Limiter } from './contestants.mjs' */

// Prime, so coprime to every key count here: its multiples visit each key once, out of order.
const STRIDE = 7_368_787
const HITS_PER_CHUNK = 5_000
// Short chunks first, so that all of a chunk's code, its end too, has run often before any of it is compiled for good.
const HITS_PER_FIRST_CHUNK = 50

/**
 * The i-th of `keys` different keys, in an order that is not sequential.
 * @param {number} i
 * @param {number} keys
 */
export function keyAt(i, keys) {
  return `user:${(i * STRIDE) % keys}`
}

/**
 * Hits each of `keys` keys once, so that all of them live.
 * @param {Limiter} limiter
 * @param {boolean} isAsync
 * @param {number} keys
 */
export async function fill(limiter, isAsync, keys) {
  for (let i = 0; i < keys; i++) {
    const answer = limiter.hit(keyAt(i, keys))
    if (isAsync) await answer
  }
}

/**
 * Nobody shall be fast or lean by having dropped keys.
 * @param {Limiter} limiter
 * @param {number} keys
 */
export function assertHolds(limiter, keys) {
  const held = limiter.size?.() ?? keys
  if (held !== keys) throw new Error(`it was given ${keys} keys and holds ${held}`)
}

/** The time of the warm-up, and of all turns of a round. @typedef {{ warmUpMs: number, timedMs: number }} Timing */

/** Turns of a limiter in a round. */
export const TURNS = 8

/**
 * Warms a limiter up. In each turn it hits random ones of `keys` keys.
 * @param {Limiter} limiter
 * @param {boolean} isAsync
 * @param {{ keys: number } & Timing} work
 * @returns {Promise<TurnTaker>}
 */
export async function turnsOf(limiter, isAsync, { keys, warmUpMs, timedMs }) {
  const walk = newWalk()
  await hitFor(warmUpMs / 2, HITS_PER_FIRST_CHUNK)
  await hitFor(warmUpMs / 2, HITS_PER_CHUNK)
  return { takeTurn: () => hitFor(timedMs / TURNS, HITS_PER_CHUNK), close: () => {} }

  /**
   * @param {number} wantedMs
   * @param {number} perChunk
   */
  async function hitFor(wantedMs, perChunk) {
    let hits = 0
    let allowed = 0
    let elapsedMs = 0
    const startMs = performance.now()
    while (elapsedMs < wantedMs) {
      allowed += isAsync ? await asyncChunk(limiter, walk, keys, perChunk) : syncChunk(limiter, walk, keys, perChunk)
      hits += perChunk
      elapsedMs = performance.now() - startMs
    }
    return { hitsPerSecond: (hits / elapsedMs) * 1000, allowedShare: allowed / hits }
  }
}

/** A xorshift32 generator between two chunks. @typedef {{ state: number }} Walk */

/** @returns {Walk} */
export function newWalk() {
  return { state: 0x9e3779b9 | 0 }
}

/**
 * @param {Limiter} limiter
 * @param {Walk} walk
 * @param {number} keys
 * @param {number} hits
 * @returns {number} how many were allowed
 */
export function syncChunk({ hit, isAllowed }, walk, keys, hits) {
  let x = walk.state
  let allowed = 0
  for (let i = 0; i < hits; i++) {
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    if (isAllowed(hit(`user:${(x >>> 0) % keys}`))) allowed += 1
  }
  walk.state = x
  return allowed
}

/**
 * The same loop again: an `await` in the one above would make the synchronous contestants wait for nothing.
 * @param {Limiter} limiter
 * @param {Walk} walk
 * @param {number} keys
 * @param {number} hits
 * @returns {Promise<number>} how many were allowed
 */
async function asyncChunk({ hit, isAllowed }, walk, keys, hits) {
  let x = walk.state
  let allowed = 0
  for (let i = 0; i < hits; i++) {
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    if (isAllowed(await hit(`user:${(x >>> 0) % keys}`))) allowed += 1
  }
  walk.state = x
  return allowed
}
