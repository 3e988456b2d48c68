// Arithmetic of the Gregorian calendar in UTC. The global Date would do the same, but it also reads the clock, which no rule may.

const DAY_MS = 86_400_000

/** The mean length of a month. */
const MONTH_DAYS = 146_097 / 4800

/** Days from 1 March of the year 0 to the epoch. */
const EPOCH_DAYS = 719_468

/** Returns the time at which a day begins, in ms since the epoch. Month 0 is January 1970, and day 0 the first of a month. */
export function dayMs(month: number, day: number): number {
  // Years begin in March, so that a leap day is the last day of its year.
  const sinceMarch = month - 2
  const year = 1970 + Math.floor(sinceMarch / 12)
  const leapDays = Math.floor(year / 4) - Math.floor(year / 100) + Math.floor(year / 400)
  const monthOfYear = sinceMarch - (year - 1970) * 12
  // From March on, every five months have 153 days.
  const daysOfYear = Math.floor((153 * monthOfYear + 2) / 5) + day
  return (365 * year + leapDays + daysOfYear - EPOCH_DAYS) * DAY_MS
}

/** Returns the number of the month that contains a time. January 1970 is 0. */
export function monthAt(timeMs: number): number {
  let month = Math.floor(timeMs / DAY_MS / MONTH_DAYS)
  while (dayMs(month + 1, 0) <= timeMs) month += 1
  while (dayMs(month, 0) > timeMs) month -= 1
  return month
}
