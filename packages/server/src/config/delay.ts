// Parses short durations, such as the drain delay.

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

const MOST_DELAY_MS = 600_000

export const DELAY_FORM = "a time such as '0s', '250ms', '5s' or '1m', at most 10m"

/** Returns milliseconds, or undefined if the text is not valid. */
export function readDelay(text: string): number | undefined {
  return read(text, 'ms|s|m', 0, MOST_DELAY_MS)
}

const LEAST_AGE_MS = 1000
const MOST_AGE_MS = 7 * 24 * 3_600_000

export const AGE_FORM = "a time such as '30s', '10m' or '24h', from 1s to 168h"

/** Returns milliseconds, or undefined if the text is not valid. */
export function readAge(text: string): number | undefined {
  return read(text, 's|m|h', LEAST_AGE_MS, MOST_AGE_MS)
}

function read(text: string, units: string, leastMs: number, mostMs: number): number | undefined {
  const [, digits, unit] = new RegExp(`^(\\d{1,9})(${units})$`).exec(text) ?? []
  if (digits === undefined) return undefined
  const ms = Number(digits) * UNITS_MS[unit]
  return ms >= leastMs && ms <= mostMs ? ms : undefined
}
