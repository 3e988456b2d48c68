// Keys. Any string that is not empty is a valid key.

import { mustBe } from './errors.ts'

export function checkKey(key: unknown): asserts key is string {
  if (typeof key !== 'string' || key.length === 0) refuse(key)
}

/** A function of its own, so that `checkKey` stays small and V8 can inline it. */
function refuse(key: unknown): never {
  throw mustBe('ERR_KEY', 'key', 'a string of at least one character', key)
}
