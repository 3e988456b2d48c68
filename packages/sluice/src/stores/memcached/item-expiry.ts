// The expiry of an item, as memcached reads it. Up to 30 days it is a number of seconds from now, above that it is a time since the
// epoch. 0 would mean for ever.
// Invariant: an item lives at least until its state ends.

const MOST_RELATIVE_SECONDS = 30 * 24 * 3600

/** The largest expiry that memcached reads: a signed 32-bit number. */
const LATEST = 2 ** 31 - 1

/**
 * Items stay so much longer than their states. Memcached counts whole seconds, and the clock of another process may be a little
 * behind.
 */
export const KEPT_LONGER_SECONDS = 10

export interface ItemTimes {
  /** End of the item's states, on the store's clock. */
  readonly endsAt: number
  /** The time on the store's clock. */
  readonly nowMs: number
  /** The system's time, which memcached compares with times since the epoch. */
  readonly systemMs: number
}

export function itemExpiry({ endsAt, nowMs, systemMs }: ItemTimes): number {
  const seconds = Math.max(0, Math.ceil((endsAt - nowMs) / 1000)) + KEPT_LONGER_SECONDS
  if (seconds <= MOST_RELATIVE_SECONDS) return seconds
  return Math.min(Math.ceil(systemMs / 1000) + seconds, LATEST)
}
