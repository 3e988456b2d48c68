// The path of a URL in one spelling, to count or to match by: `/a//b/%2e%2e/%63` is `/a/c`.
// Invariant: two URLs give the same path only if their segments are the same once they are decoded, or if a folding was asked for.
// Invariant: the result put in again comes out unchanged, and nothing throws for any URL.

import { SluiceError, show } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'

/**
 * Spellings that are different paths by the standard, and the same path on some servers:
 * - `case`: `/Orders` is `/orders`.
 * - `parameters`: `/orders;v=1` is `/orders`.
 * - `trailing-slash`: `/orders/` is `/orders`.
 * - `encoded-slash`: `/orders%2F7` and `/orders%5C7` are `/orders/7`.
 */
export type PathFold = 'case' | 'parameters' | 'trailing-slash' | 'encoded-slash'

export const PATH_FOLDS: readonly PathFold[] = ['case', 'parameters', 'trailing-slash', 'encoded-slash']

export interface PlainPathOptions {
  /** Spellings to take for one. Default: none. */
  readonly fold?: readonly PathFold[]
}

const OPTIONS = ['fold'] as const

/** The origin of a URL that has one. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/\\?#]*/i

/** Bytes that a segment has as they are. All others are written as `%XX`, `%` and both slashes included. */
const LITERAL = /[A-Za-z0-9!$&'()*+,\-.:;=@[\]_|~]/

/** Every byte as it stands in a segment. */
const WRITTEN: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const sign = String.fromCharCode(byte)
  return LITERAL.test(sign) ? sign : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
})

const PERCENT = 0x25
const SEMICOLON = 0x3b
const HEX_PAIR = /^[0-9a-f]{2}$/i

/** Reads a URL, or the path of one, as a server got it: with or without an origin and a query. */
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

/** Throws ERR_OPTION unless all are foldings. */
function checkFold(fold: readonly PathFold[]): readonly PathFold[] {
  const unknown = Array.isArray(fold) ? fold.find((name) => !PATH_FOLDS.includes(name)) : fold
  if (unknown === undefined) return fold
  throw new SluiceError('ERR_OPTION', `fold must be a list of ${PATH_FOLDS.join(', ')}, got ${show(unknown)}`, {
    option: 'fold',
    value: unknown,
  })
}

/** One segment, decoded, folded, and encoded in one way. */
function segmentOf(raw: string, fold: readonly PathFold[]): string {
  let bytes = decode(raw)
  if (fold.includes('parameters')) {
    const semicolon = bytes.indexOf(SEMICOLON)
    if (semicolon >= 0) bytes = bytes.subarray(0, semicolon)
  }
  return encode(fold.includes('case') ? lowerCase(bytes) : bytes)
}

/** The bytes of a segment. A `%` without two hex digits behind it is a `%`. */
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

/** Servers hand over one character for each byte that came; where there are others, the text is UTF-8. */
function bytesOf(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code > 0xff) return new TextEncoder().encode(text)
    bytes[i] = code
  }
  return bytes
}

/** In small letters, of any script. Bytes that are not text keep all but A to Z. */
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
