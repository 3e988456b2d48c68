// Reads the expiry of a policy, as people write it.

import type { Problem } from '../errors.ts'
import { show } from '../input/near-word.ts'

/** Returns the time in ms since the epoch; Infinity without a text. Adds a problem if no calendar has the time. */
export function timeOf(written: string | undefined, at: string, problems: Problem[]): number {
  if (written === undefined) return Number.POSITIVE_INFINITY
  const timeMs = Date.parse(written)
  if (Number.isNaN(timeMs) || !isDay(written.slice(0, 10))) {
    problems.push({ at, message: `${at} is no time of the calendar: ${show(written)}` })
  }
  return timeMs
}

/** False for days such as 30 February, which `Date` takes for a day of March. */
export function isDay(day: string): boolean {
  const time = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(day)
}
