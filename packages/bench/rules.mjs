// The rules that the benches measure. Quotas are out of reach, except the log's: it keeps an entry for each hit it
// allowed, so it is shown with limits that somebody would set.

import { fixedWindow, gcra, leakyBucket, slidingLog, slidingWindow, tokenBucket } from 'sluice'
import { ROOMY_QUOTA } from './quota.mjs'

/** @import { Rule } from 'sluice' */

const { limit, windowMs } = ROOMY_QUOTA

/** Every rule of ours. @type {Record<string, Rule>} */
export const EVERY_RULE = {
  fixedWindow: fixedWindow({ limit, window: windowMs }),
  slidingWindow: slidingWindow({ limit, window: windowMs }),
  tokenBucket: tokenBucket({ capacity: limit, refill: limit, every: windowMs }),
  gcra: gcra({ limit, period: windowMs, burst: limit }),
  leakyBucket: leakyBucket({ capacity: limit, leak: limit, every: windowMs }),
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
