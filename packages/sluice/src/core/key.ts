// Keys. Any string that is not empty is a safe key.

import { mustBe } from './errors.ts'

export function checkKey(key: unknown): asserts key is string {
  if (typeof key !== 'string' || key.length === 0) refuse(key)
}

/** Apart from the check, which is small enough so to be compiled into every method that makes it. */
function refuse(key: unknown): never {
  throw mustBe('ERR_KEY', 'key', 'a string of at least one character', key)
}
