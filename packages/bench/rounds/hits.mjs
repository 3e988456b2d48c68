// Hits on a limiter behind a network: a constant number under way on some thousand keys. The next hit starts as soon as an answer
// arrives.

import { performance } from 'node:perf_hooks'

/**
 * A limiter under test. `hit` returns the promise of the library, and `isAllowed` reads its result.
 * @typedef {object} Limiter
 * @property {(key: string) => Promise<any>} hit
 * @property {(answer: any) => boolean} isAllowed
 */

/**
 * Times of the untimed hits after the start of a process, until its code is compiled and all keys exist, and of the untimed and
 * timed hits for each number of hits under way.
 * @typedef {{ warmUpMs: number, leadInMs: number, timedMs: number }} Timing
 */

export const KEYS = 4_000

/**
 * @param {Limiter} limiter
 * @param {() => string} nextKey
 * @param {{ underWay: number, ms: number }} work
 */
export async function hitFor({ hit, isAllowed }, nextKey, { underWay, ms }) {
  let hits = 0
  let allowed = 0
  const startMs = performance.now()
  const endMs = startMs + ms
  await Promise.all(Array.from({ length: underWay }, hitUntilTheEnd))
  return { hits, allowed, elapsedMs: performance.now() - startMs }

  async function hitUntilTheEnd() {
    while (performance.now() < endMs) {
      if (isAllowed(await hit(nextKey()))) allowed += 1
      hits += 1
    }
  }
}

/** Returns a function that builds a new key string on each call, as a server does that reads it from a request. */
export function randomKeys() {
  let x = 0x9e3779b9 | 0
  return () => {
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    return `user:${(x >>> 0) % KEYS}`
  }
}
