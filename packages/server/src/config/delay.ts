// Parses a short duration, such as the drain delay.

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 }

const MOST_MS = 600_000

export const DELAY_FORM = "a time such as '0s', '250ms', '5s' or '1m', at most 10m"

/** Returns milliseconds, or undefined if the text is not valid. */
export function readDelay(text: string): number | undefined {
  const [, digits, unit] = /^(\d{1,9})(ms|s|m)$/.exec(text) ?? []
  if (digits === undefined) return undefined
  const ms = Number(digits) * UNITS_MS[unit]
  return ms <= MOST_MS ? ms : undefined
}
