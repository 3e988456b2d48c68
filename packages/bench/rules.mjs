// The rules that the benches measure. Quotas are out of reach, except the log's: it keeps an entry for each hit it
// allowed, so it is shown with limits that somebody would set.

import { fixedWindow, gcra, leakyBucket, slidingLog, slidingWindow, tokenBucket } from 'sluice'
import { roomyQuota } from './quota.mjs'

/** @import { Rule } from 'sluice' */

const { limit, windowMs } = roomyQuota

/** A hit on a meter drains for minutes. At a faster rate it would have ended before the next hit on its key, which would find no state. */
const capacity = 1_000_000
const refill = 7

/** The meters, with a state that no run outlives. @type {Record<string, Rule>} */
export const meters = {
  tokenBucket: tokenBucket({ capacity, refill, every: windowMs }),
  gcra: gcra({ limit: refill, period: windowMs, burst: capacity }),
  leakyBucket: leakyBucket({ capacity, leak: refill, every: windowMs }),
}

/** Every rule of ours. @type {Record<string, Rule>} */
export const everyRule = {
  fixedWindow: fixedWindow({ limit, window: windowMs }),
  slidingWindow: slidingWindow({ limit, window: windowMs }),
  ...meters,
  'slidingLog, 10 in 1 s': slidingLog({ limit: 10, window: '1s' }),
  'slidingLog, 100 in 10 ms': slidingLog({ limit: 100, window: '10ms' }),
}

/**
 * Fixed windows of different lengths, for one limiter.
 * @param {number} count
 */
export function severalRules(count) {
  return Array.from({ length: count }, (_, i) => fixedWindow({ limit, window: windowMs * (i + 1), name: `window ${i + 1}` }))
}
