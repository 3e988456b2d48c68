// Exact arithmetic with whole numbers below 2^53. Doubles in TypeScript and Lua hold them without loss.

/** The largest whole number that any sum or product may reach. */
export const MAX = Number.MAX_SAFE_INTEGER

/** The longest duration: 2^47 ms, about 4,459 years. Any JavaScript date plus two such durations stays below 2^53. */
export const MAX_DURATION_MS = 2 ** 47

/** The latest time of JavaScript's Date. */
export const MAX_TIME_MS = 8.64e15

export function isWhole(value: unknown, least: number, most: number = MAX): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most
}

// A quotient of whole numbers below 2^53 never rounds across a whole number, so both divisions are exact.

export function floorDiv(dividend: number, divisor: number): number {
  return Math.floor(dividend / divisor)
}

export function ceilDiv(dividend: number, divisor: number): number {
  return Math.ceil(dividend / divisor)
}

/**
 * Returns factor × times / divisor, rounded up, exactly, also where the product passes 2^53. Needs factor < divisor, so that the
 * result is at most `times`.
 */
export function ceilMulDiv(factor: number, times: number, divisor: number): number {
  if (factor * times <= MAX) return ceilDiv(factor * times, divisor)
  // Long multiplication and division, bit by bit of `times`. No number here passes 2 × divisor, and doubling is exact.
  let quotient = 0
  let rest = 0
  let left = times
  for (let bit = 2 ** 52; bit >= 1; bit /= 2) {
    quotient *= 2
    rest *= 2
    if (rest >= divisor) {
      rest -= divisor
      quotient += 1
    }
    if (left < bit) continue
    left -= bit
    if (rest >= divisor - factor) {
      rest -= divisor - factor
      quotient += 1
    } else rest += factor
  }
  return rest > 0 ? quotient + 1 : quotient
}

export function greatestCommonDivisor(a: number, b: number): number {
  while (b !== 0) {
    const rest = a % b
    a = b
    b = rest
  }
  return a
}
