// Exact arithmetic: whole numbers below 2^53, which doubles in TypeScript and Lua hold without loss.

/** The largest whole number that everything here may reach. */
export const MAX = Number.MAX_SAFE_INTEGER

/** The longest duration: 2^47 ms, about 4,459 years. With any date that JavaScript knows, two of them stay below 2^53. */
export const MAX_DURATION_MS = 2 ** 47

/** The latest time: the last one that JavaScript's Date knows. */
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

export function greatestCommonDivisor(a: number, b: number): number {
  while (b !== 0) {
    const rest = a % b
    a = b
    b = rest
  }
  return a
}
