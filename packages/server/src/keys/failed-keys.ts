// Limits requests without a valid API key, by the address that they come from. All doors share one, so an address gains nothing by
// using several protocols.

import { createLimiter, memoryStore, tokenBucket } from 'sluice'

/** Failures that an address may have. A script with a misspelt key gets a clear message; guessing keys is slowed down. */
const FAILURES = { capacity: 20, refill: 20, every: '1m' } as const
const MOST_ADDRESSES = 10_000

/** Numbers of failures, and of those that were limited. */
export interface FailedKeyCounts {
  failedAuthentications: number
  limitedAuthentications: number
}

export class FailedKeys {
  readonly #limiter = createLimiter({ rules: tokenBucket(FAILURES), store: memoryStore({ maxKeys: MOST_ADDRESSES }) })
  readonly #counts: FailedKeyCounts

  constructor(counts: FailedKeyCounts) {
    this.#counts = counts
  }

  /** Counts a failure. Returns 0, or the time until the address may fail again if it has failed too often. */
  add(address: string): number {
    this.#counts.failedAuthentications += 1
    const { allowed, retryAfterMs } = this.#limiter.hit(address)
    if (allowed) return 0
    this.#counts.limitedAuthentications += 1
    return retryAfterMs
  }
}

export const TOO_MANY_FAILURES = 'too many requests without a valid API key came from this address'
