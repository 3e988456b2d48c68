// Values of structured fields (RFC 9651), for rate limit fields.
// Invariant: every input gives a valid value, and different strings give different values.

const PERCENT = 0x25

/** Writes a String: printable ASCII in quotes. */
export function string(printable: string): string {
  return `"${printable.replaceAll(/["\\]/g, '\\$&')}"`
}

/** Writes a Byte Sequence: base64 between colons. Text is encoded as UTF-8. */
export function byteSequence(value: string | Uint8Array): string {
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value
  let latin1 = ''
  for (const byte of bytes) latin1 += String.fromCharCode(byte)
  return `:${btoa(latin1)}:`
}

/** Writes a text in printable ASCII. `%` and characters that are not printable become `%XX` for each byte of UTF-8. */
export function printable(text: string): string {
  let out = ''
  for (const character of text) {
    const code = character.codePointAt(0) as number
    out += code >= 0x20 && code < 0x7f && code !== PERCENT ? character : utf8(code).map(percentEncoded).join('')
  }
  return out
}

function percentEncoded(byte: number): string {
  return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
}

/** Encodes one code point. Each lone surrogate has bytes of its own. TextEncoder would write the same bytes for all of them. */
function utf8(code: number): number[] {
  const low = (shift: number): number => 0x80 | ((code >> shift) & 0x3f)
  if (code < 0x80) return [code]
  if (code < 0x800) return [0xc0 | (code >> 6), low(0)]
  if (code < 0x10000) return [0xe0 | (code >> 12), low(6), low(0)]
  return [0xf0 | (code >> 18), low(12), low(6), low(0)]
}
