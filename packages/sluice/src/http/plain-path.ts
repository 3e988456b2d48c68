// Normalises the path of a URL, for counting and matching: `/a//b/%2e%2e/%63` becomes `/a/c`.
// Invariant: two URLs give the same path only if their decoded segments are the same, or if the option `fold` makes them the
// same.
// Invariant: a normalised path stays the same if it is normalised again. No URL makes it throw.

import { SluiceError, show } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'

/**
 * Differences in spelling that some servers ignore. By the standard they are different paths:
 * - `case`: `/Orders` is `/orders`.
 * - `parameters`: `/orders;v=1` is `/orders`.
 * - `trailing-slash`: `/orders/` is `/orders`.
 * - `encoded-slash`: `/orders%2F7` and `/orders%5C7` are `/orders/7`.
 */
export type PathFold = 'case' | 'parameters' | 'trailing-slash' | 'encoded-slash'

export const PATH_FOLDS: readonly PathFold[] = ['case', 'parameters', 'trailing-slash', 'encoded-slash']

export interface PlainPathOptions {
  /** Differences to ignore. Default: none. */
  readonly fold?: readonly PathFold[]
}

const OPTIONS = ['fold'] as const

/** Matches the origin of a URL. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/\\?#]*/i

/** Bytes that are written as they are. All others are written as `%XX`, including `%` and both slashes. */
const LITERAL = /[A-Za-z0-9!$&'()*+,\-.:;=@[\]_|~]/

/** The written form of every byte. */
const WRITTEN: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const sign = String.fromCharCode(byte)
  return LITERAL.test(sign) ? sign : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
})

const PERCENT = 0x25
const SEMICOLON = 0x3b
const HEX_PAIR = /^[0-9a-f]{2}$/i

/** Returns the normalised path. `url` is a URL or a path as a server receives it, with or without origin and query. */
export function plainPath(url: string, options: PlainPathOptions = {}): string {
  checkOptions('plainPath', options, OPTIONS)
  const fold = checkFold(options.fold ?? [])
  const [path] = url.replace(ORIGIN, '').split(/[?#]/, 1)
  const slashed = fold.includes('encoded-slash') ? path.replace(/%2f|%5c/gi, '/') : path
  const segments: string[] = []
  let endsOpen = true
  for (const raw of slashed.split(/[/\\]/)) {
    const segment = segmentOf(raw, fold)
    endsOpen = segment === '' || segment === '.' || segment === '..'
    if (segment === '..') segments.pop()
    else if (!endsOpen) segments.push(segment)
  }
  const isOpen = endsOpen && !fold.includes('trailing-slash') && segments.length > 0
  return `/${segments.join('/')}${isOpen ? '/' : ''}`
}

/** Throws ERR_OPTION if one is not a `PathFold`. */
function checkFold(fold: readonly PathFold[]): readonly PathFold[] {
  const unknown = Array.isArray(fold) ? fold.find((name) => !PATH_FOLDS.includes(name)) : fold
  if (unknown === undefined) return fold
  throw new SluiceError('ERR_OPTION', `fold must be a list of ${PATH_FOLDS.join(', ')}, got ${show(unknown)}`, {
    option: 'fold',
    value: unknown,
  })
}

/** Decodes, folds and encodes one segment. */
function segmentOf(raw: string, fold: readonly PathFold[]): string {
  let bytes = decode(raw)
  if (fold.includes('parameters')) {
    const semicolon = bytes.indexOf(SEMICOLON)
    if (semicolon >= 0) bytes = bytes.subarray(0, semicolon)
  }
  return encode(fold.includes('case') ? lowerCase(bytes) : bytes)
}

/** Returns the bytes of a segment. A `%` without two hex digits after it stays a `%`. */
function decode(raw: string): Uint8Array {
  const encoded = bytesOf(raw)
  const bytes = new Uint8Array(encoded.length)
  let length = 0
  for (let i = 0; i < encoded.length; i++) {
    const digits = encoded[i] === PERCENT ? String.fromCharCode(...encoded.subarray(i + 1, i + 3)) : ''
    const isEscape = HEX_PAIR.test(digits)
    bytes[length] = isEscape ? Number.parseInt(digits, 16) : encoded[i]
    length += 1
    if (isEscape) i += 2
  }
  return bytes.subarray(0, length)
}

/** Returns the bytes of a text. Servers pass one character for each byte; a text with other characters is encoded as UTF-8. */
function bytesOf(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code > 0xff) return new TextEncoder().encode(text)
    bytes[i] = code
  }
  return bytes
}

/** Converts letters of any script to lower case. In bytes that are not UTF-8, only A to Z. */
function lowerCase(bytes: Uint8Array): Uint8Array {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return new TextEncoder().encode(text.toLowerCase())
  } catch {
    return bytes.map((byte) => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte))
  }
}

function encode(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += WRITTEN[byte]
  return text
}
