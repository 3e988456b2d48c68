// Durations: whole milliseconds, or '250ms' '10s' '1m' '2h' '7d'.

import { mustBe } from './errors.ts'
import { isWhole, MAX_DURATION_MS } from './whole-numbers.ts'

/** Whole milliseconds, or a number with its unit: `'250ms'`, `'10s'`, `'1m'`, `'2h'`, `'7d'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Returns a duration in milliseconds. Throws ERR_DURATION if it cannot be read. `name` is the option's name in that error. */
export function durationMs(duration: Duration, name = 'duration'): number {
  const ms = typeof duration === 'string' ? parse(duration) : duration
  if (!isWhole(ms, 1, MAX_DURATION_MS)) {
    const need = `such as '250ms', '10s', '1m', '2h' or '7d', or whole milliseconds from 1 to ${MAX_DURATION_MS}`
    throw mustBe('ERR_DURATION', name, need, duration)
  }
  return ms
}

/** Returns the milliseconds; NaN if the text is no duration. */
function parse(text: string): number {
  const parts = /^(\d{1,16})(ms|s|m|h|d)$/.exec(text)
  return parts === null ? Number.NaN : Number(parts[1]) * UNIT_MS[parts[2]]
}

/** Writes a duration in its largest whole unit: 60000 as '1m'. */
export function formatDuration(ms: number): string {
  for (const unit of ['d', 'h', 'm', 's']) {
    if (ms % UNIT_MS[unit] === 0) return `${ms / UNIT_MS[unit]}${unit}`
  }
  return `${ms}ms`
}
