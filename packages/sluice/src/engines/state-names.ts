// Names of states: the key and the rule's part of a state's identity, in characters that every store takes.
// A name is `key|rule`, in printable ASCII without spaces: `%`, `|` and every other UTF-16 unit is written as `%` and four
// hexadecimal digits. A name longer than the bound is `%h` and the SHA-256 of what it would have been.
// Invariant: different states have different names, whatever characters their keys and rules hold.

import { SluiceError, show } from '../core/errors.ts'
import { type Rule, stateName } from '../core/rule.ts'
import { isWhole } from '../core/whole-numbers.ts'
import { sha256 } from './sha256.ts'

/** Longest name unless an engine is told otherwise, in bytes. */
export const LONGEST_NAME = 255

/** `%h` and 64 digits. */
const SHORTENED = 66

/** Units that stand in a name as they are. */
const PLAIN = /^[!-$&-{}~]*$/
const UNSAFE = /[^!-$&-{}~]/g

/** The name of a rule's state of one key: at most `longest` bytes, of printable ASCII without spaces. */
export function nameOfState(rule: Rule, key: string, longest: number = LONGEST_NAME): string {
  return shortName(plainName(key) + rulePart(rule), longest)
}

/** The name of a key: at most `longest` bytes, of printable ASCII without spaces. */
export function nameOfKey(key: string, longest: number = LONGEST_NAME): string {
  return shortName(plainName(key), longest)
}

/** The second part of a state's name, before it is shortened. */
export function rulePart(rule: Rule): string {
  return `|${plainName(stateName(rule))}`
}

/** The name itself, or its hash where it is too long. */
export function shortName(name: string, longest: number): string {
  return name.length <= longest ? name : `%h${sha256(name)}`
}

/** Throws ERR_OPTION unless names can be kept within the bound. */
export function checkLongestName(of: string, longest: unknown): asserts longest is number {
  if (isWhole(longest, SHORTENED)) return
  const message = `${of} needs longestName to be a whole number of at least ${SHORTENED}, got ${show(longest)}`
  throw new SluiceError('ERR_OPTION', message, { option: 'longestName', value: longest })
}

/** The text in printable ASCII without spaces; different texts stay different. */
export function plainName(text: string): string {
  if (PLAIN.test(text)) return text
  // Without the flag u: each half of a surrogate pair is escaped by itself, so that lone halves stay apart.
  return text.replace(UNSAFE, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
