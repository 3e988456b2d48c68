// The units of time of Envoy's rate limit protocol.

/** Each unit with its number in `RateLimit.Unit` and its form in a policy. The reference server counts a month as 30 days and a year as 365. */
export const UNITS = {
  second: { number: 1, ms: 1000, written: '1s' },
  minute: { number: 2, ms: 60_000, written: '1m' },
  hour: { number: 3, ms: 3_600_000, written: '1h' },
  day: { number: 4, ms: 86_400_000, written: '1d' },
  month: { number: 5, ms: 30 * 86_400_000, written: '30d' },
  year: { number: 6, ms: 365 * 86_400_000, written: '365d' },
  week: { number: 7, ms: 7 * 86_400_000, written: '7d' },
} as const

export type UnitName = keyof typeof UNITS

const NUMBERS = new Map<number, number>(Object.values(UNITS).map(({ number, ms }) => [ms, number]))
const WINDOWS = new Map<number, number>(Object.values(UNITS).map(({ number, ms }) => [number, ms]))

/** Returns the number of the unit that is as long as the window, or 0 (`UNKNOWN`) if there is none. */
export function unitOf(windowMs: number): number {
  return NUMBERS.get(windowMs) ?? 0
}

/** Returns undefined if no unit has the number. */
export function windowOf(unit: number): number | undefined {
  return WINDOWS.get(unit)
}
