// Ids of holds: random whole numbers below 2^53. Many are drawn at once, because each draw takes a microsecond.

const DRAWN = 256

const words = new Uint32Array(2 * DRAWN)

let next = words.length

/** Returns a random id. Nothing is drawn before the first call, because some runtimes have no random numbers before a request. */
export function randomId(): number {
  if (next === words.length) {
    globalThis.crypto.getRandomValues(words)
    next = 0
  }
  const high = words[next++] >>> 11
  return high * 2 ** 32 + words[next++]
}
