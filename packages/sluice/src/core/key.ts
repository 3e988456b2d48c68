// Keys. Any string that is not empty is a valid key.

import { mustBe } from './errors.ts'

/** Throws ERR_KEY unless `key` is a key. The error calls it `name`. */
export function checkKey(key: unknown, name?: string): asserts key is string {
  if (typeof key !== 'string' || key.length === 0) refuse(key, name)
}

/** A function of its own, so that `checkKey` stays small and V8 can inline it. */
function refuse(key: unknown, name = 'key'): never {
  throw mustBe('ERR_KEY', name, 'a string of at least one character', key)
}
