// Names of states, in characters that every store accepts.
// A name is `key|rule`, in printable ASCII without spaces. `%`, `|` and all other UTF-16 units are written as `%` and four
// hexadecimal digits. A name that is too long is replaced by `%h` and its SHA-256.
// Invariant: different states have different names, for any characters in keys and rules.

import { SluiceError, show } from '../core/errors.ts'
import { type Rule, stateName } from '../core/rule.ts'
import { isWhole } from '../core/whole-numbers.ts'
import { sha256 } from './sha256.ts'

/** Default of the longest name, in bytes. */
export const LONGEST_NAME = 255

/** Length of a shortened name: `%h` and 64 digits. */
const SHORTENED = 66

/** Matches texts that need no escape. */
const PLAIN = /^[!-$&-{}~]*$/
const UNSAFE = /[^!-$&-{}~]/g

/** Returns the name of the state of a rule and key: at most `longest` bytes of printable ASCII without spaces. */
export function nameOfState(rule: Rule, key: string, longest: number = LONGEST_NAME): string {
  return shortName(plainName(key) + rulePart(rule), longest)
}

/** Returns the name of a key: at most `longest` bytes of printable ASCII without spaces. */
export function nameOfKey(key: string, longest: number = LONGEST_NAME): string {
  return shortName(plainName(key), longest)
}

/** Returns the second part of a state's name, before it is shortened. */
export function rulePart(rule: Rule): string {
  return `|${plainName(stateName(rule))}`
}

/** Returns the name itself, or its hash if it is too long. */
export function shortName(name: string, longest: number): string {
  return name.length <= longest ? name : `%h${sha256(new TextEncoder().encode(name))}`
}

/** Throws ERR_OPTION unless `longest` is a usable bound for names. */
export function checkLongestName(maker: string, longest: unknown): asserts longest is number {
  if (isWhole(longest, SHORTENED)) return
  const message = `${maker} needs longestName to be a whole number of at least ${SHORTENED}, got ${show(longest)}`
  throw new SluiceError('ERR_OPTION', message, { option: 'longestName', value: longest })
}

/** Returns the text in printable ASCII without spaces. Different texts stay different. */
export function plainName(text: string): string {
  if (PLAIN.test(text)) return text
  // The expression has no flag u: each half of a surrogate pair is escaped by itself, so that lone halves stay different.
  return text.replace(UNSAFE, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
