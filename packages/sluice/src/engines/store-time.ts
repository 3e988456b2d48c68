// Checks the time that a store's server returned, before it is used.

import { SluiceError, show } from '../core/errors.ts'
import { MAX_TIME_MS } from '../core/whole-numbers.ts'

/** Returns whole milliseconds since the epoch. Throws ERR_STORE_FATAL if the value is not a time, such as digits in a string. */
export function storeTime(nowMs: unknown): number {
  const time = typeof nowMs === 'number' ? Math.floor(nowMs) : Number.NaN
  if (time >= 0 && time <= MAX_TIME_MS) return time
  const message = `the store's clock must return milliseconds since the epoch as a number, got ${show(nowMs)}`
  throw new SluiceError('ERR_STORE_FATAL', message, { option: 'nowMs', value: nowMs })
}
