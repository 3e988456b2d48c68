// Reads whole numbers from bytes, as Redis and redis-cell read them: a sign and digits, nothing else, within 64 bits.

const PLUS = 0x2b
const MINUS = 0x2d
const ZERO = 0x30

/** Digits that a double holds exactly in any case. */
const EXACT_DIGITS = 15

const MOST = 2n ** 63n - 1n
const LEAST = -(2n ** 63n)

/**
 * Returns the number in `bytes` from `start` to `end`. NaN if it is not a whole number of 64 bits. Infinity or −Infinity if it is one, but
 * too large to be exact here.
 */
export function wholeNumber(bytes: Uint8Array, start: number, end: number): number {
  const first = bytes[start]
  const hasSign = first === MINUS || first === PLUS
  let at = hasSign ? start + 1 : start
  if (at >= end) return Number.NaN
  if (end - at > EXACT_DIGITS) return largeNumber(bytes, start, end)
  let value = 0
  for (; at < end; at++) {
    const digit = bytes[at] - ZERO
    if (digit < 0 || digit > 9) return Number.NaN
    value = value * 10 + digit
  }
  // Zero has no sign.
  return first === MINUS ? 0 - value : value
}

function largeNumber(bytes: Uint8Array, start: number, end: number): number {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1')
  if (!/^[+-]?\d+$/.test(text) || text.length > 1000) return Number.NaN
  const value = BigInt(text.replace('+', ''))
  if (value > MOST || value < LEAST) return Number.NaN
  if (value > Number.MAX_SAFE_INTEGER) return Number.POSITIVE_INFINITY
  return value < Number.MIN_SAFE_INTEGER ? Number.NEGATIVE_INFINITY : Number(value)
}
