// Whom a limiter counts. Any string that is not empty is a safe key.

import { SluiceError, show } from './errors.ts'

export function checkKey(key: unknown): asserts key is string {
  if (typeof key !== 'string' || key.length === 0) {
    throw new SluiceError('ERR_KEY', `key must be a string of at least one character, got ${show(key)}`)
  }
}
