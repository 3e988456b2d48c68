// Values of structured fields (RFC 9651), for rate limit fields.
// Invariant: every input gives a valid value, and different strings give different values.

/** The upper five bits of each half of a surrogate pair. */
const SURROGATE = 0b11011

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

/**
 * Writes a text in printable ASCII. `%` and characters that are not printable become `%XX` for each byte of UTF-8. A lone half of a
 * surrogate pair keeps bytes of its own; TextEncoder would write the same for all.
 */
export function printable(text: string): string {
  return text.replaceAll(/[^ -$&-~]/gu, (character) => {
    const code = character.charCodeAt(0)
    const isHalf = character.length === 1 && code >> 11 === SURROGATE
    return isHalf
      ? `%ED${percentEncoded(0x80 | ((code >> 6) & 0x3f))}${percentEncoded(0x80 | (code & 0x3f))}`
      : encodeURIComponent(character)
  })
}

/** Writes a byte from 0x80 on. */
function percentEncoded(byte: number): string {
  return `%${byte.toString(16).toUpperCase()}`
}
