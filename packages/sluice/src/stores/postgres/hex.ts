// Bytes as hexadecimal digits. Postgres reads and writes them in every session, whatever its settings are.

const DIGITS: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

export function toHex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += DIGITS[byte]
  return text
}

/** Reads digits that Postgres wrote. */
export function fromHex(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length / 2)
  for (let i = 0; i < bytes.length; i++) bytes[i] = (digit(text.charCodeAt(2 * i)) << 4) | digit(text.charCodeAt(2 * i + 1))
  return bytes
}

/** The value of a digit in 0–9 or a–f. */
function digit(code: number): number {
  return code < 58 ? code - 48 : code - 87
}
