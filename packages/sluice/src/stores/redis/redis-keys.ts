// Names of states in Redis: `prefix:1:{key}:algorithm:name`, or `prefix:1:{key}::name` if the name begins with the algorithm. A rule
// that counts by parts of a subject has their names after the algorithm: `prefix:1:{key}:algorithm@org,user:name`.
// 1 is the version of this form and of the states.
// Invariants: no two pairs of rule and key share a name, and the hash slot is that of the key alone, whatever is in it.

import { createHash } from 'node:crypto'
import { SluiceError, show } from '../../core/errors.ts'
import type { Rule } from '../../core/rule.ts'

const VERSION = 1

/** A longer key is known by its hash: names stay short, whatever people send. */
const LONGEST_KEY = 128

/** What must not stand in a name as it is: what ends or begins a hash tag, what cannot be told apart in UTF-8, what hurts in a terminal, and the sign of an escape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const UNSAFE = /[%{}\u0000-\u001f\u007f]|\p{Cs}/gu

export class RedisKeys {
  readonly #start: string
  readonly #onceStart: string

  constructor(prefix: string) {
    if (typeof prefix !== 'string' || prefix.length === 0 || /[{}]|\p{Cs}/u.test(prefix)) {
      const message = `redisStore needs prefix to be a string without braces or halves of surrogate pairs, got ${show(prefix)}`
      throw new SluiceError('ERR_OPTION', message)
    }
    this.#start = `${prefix}:${VERSION}:{`
    this.#onceStart = `${prefix}:once:${VERSION}:{`
  }

  /** Where it is noted which commands of a sender have been executed, in the slot of `tag`. */
  onceOf(tag: string, sender: string): string {
    return `${this.#onceStart}${tag}}:${sender}`
  }

  /** The text after the key in the names of a rule's states. */
  endOf({ algorithm, name, per }: Rule): string {
    // A name that begins with the algorithm, as that of a rule without a name of its own does, says it once.
    const said = name.startsWith(`${algorithm}:`) ? '' : algorithm
    // Neither algorithms nor names in `per` have an at sign, a comma or a colon.
    return `}:${said}${per === undefined ? '' : `@${per}`}:${encode(name)}`
  }

  /** A pattern for SCAN that fits the names of all states, and of them alone. `keyPrefix` is what the client puts before every name. */
  pattern(keyPrefix: string): string {
    return `${(keyPrefix + this.#start).replace(/[*?[\]\\^-]/g, '\\$&')}*`
  }

  /** The text before `endOf` in the names of a key's states. */
  startOf(key: string): string {
    return this.#start + encode(key)
  }
}

/** Nothing but letters, digits and what else is safe in ASCII, as most keys are. */
const PLAIN = /^[ !-$&-z|~]*$/

function encode(text: string): string {
  // An h is no hexadecimal digit, so no escape begins as a hash does.
  if (text.length > LONGEST_KEY) return `%h${createHash('sha256').update(text, 'utf16le').digest('hex').slice(0, 32)}`
  if (PLAIN.test(text)) return text
  return text.replace(UNSAFE, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
