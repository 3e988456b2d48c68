// Names of states in Redis: `prefix:1:{key}:algorithm:name`, or `prefix:1:{key}::name` if the name begins with the algorithm.
// If the rule has `per`, its names follow the algorithm: `prefix:1:{key}:algorithm@org,user:name`.
// 1 is the version of the names and of the states.
// Invariants: no two pairs of rule and key share a name, and the hash slot depends on the key alone, for any characters in it.

import { SluiceError, show } from '../../core/errors.ts'
import type { Rule } from '../../core/rule.ts'
import { sha256 } from '../../engines/sha256.ts'

const VERSION = 1

/** The longest key that is written out. A longer key is replaced by its hash, so that names stay short. */
const LONGEST_KEY = 128

/**
 * Characters that are escaped: braces (hash tags), lone surrogates (equal in UTF-8), control characters, and `%` (the escape).
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression looks for control characters
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

  /** Returns the name of the note about a sender's executed commands, in the slot of `tag`. */
  onceOf(tag: string, sender: string): string {
    return `${this.#onceStart}${tag}}:${sender}`
  }

  /** Returns the text after the key in the names of a rule's states. */
  endOf({ algorithm, name, per }: Rule): string {
    // Default names begin with the algorithm. It is not written twice.
    const written = name.startsWith(`${algorithm}:`) ? '' : algorithm
    // Neither algorithms nor names in `per` contain an at sign, a comma or a colon.
    return `}:${written}${per === undefined ? '' : `@${per}`}:${encode(name)}`
  }

  /** Returns a pattern for SCAN that matches the names of all states, and no others. `keyPrefix` is the client's own prefix. */
  pattern(keyPrefix: string): string {
    return `${(keyPrefix + this.#start).replace(/[*?[\]\\^-]/g, '\\$&')}*`
  }

  /** Returns the text before `endOf` in the names of a key's states. */
  startOf(key: string): string {
    return this.#start + encode(key)
  }
}

/** Matches keys of safe ASCII characters only, as most keys are. */
const PLAIN = /^[ !-$&-z|~]*$/

function encode(text: string): string {
  // h is not a hexadecimal digit, so no escape looks like the start of a hash.
  if (text.length > LONGEST_KEY) return `%h${hashOf(text).slice(0, 32)}`
  if (PLAIN.test(text)) return text
  return text.replace(UNSAFE, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Uses Node's own hash where there is one, because it takes a tenth of the time. It is not imported: Workers have none. */
function hashOf(text: string): string {
  const crypto = globalThis.process?.getBuiltinModule?.('node:crypto')
  if (crypto === undefined) return sha256(bytesOf(text))
  return crypto.createHash('sha256').update(text, 'utf16le').digest('hex')
}

/** Returns the bytes of a text in UTF-16, the lower byte first. */
function bytesOf(text: string): Uint8Array {
  const bytes = new Uint8Array(2 * text.length)
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    bytes[2 * i] = unit
    bytes[2 * i + 1] = unit >> 8
  }
  return bytes
}
