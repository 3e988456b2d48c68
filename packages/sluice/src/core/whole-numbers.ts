// Exact arithmetic with whole numbers below 2^53. Doubles in TypeScript and Lua hold them without loss.

/** The largest whole number that any sum or product may reach. */
export const MAX = Number.MAX_SAFE_INTEGER

/** The longest duration: 2^47 ms, about 4,459 years. The sum of any JavaScript date and two such durations is below 2^53. */
export const MAX_DURATION_MS = 2 ** 47

/** The latest time of JavaScript's Date. */
export const MAX_TIME_MS = 8.64e15

export function isWhole(value: unknown, least: number, most: number = MAX): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most
}

// Both divisions are exact: a quotient of whole numbers below 2^53 never rounds to the other side of a whole number.

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
