// Reads times of logs, in any of these forms:
// - `10/Oct/2026:13:55:36 -0700`, of Apache and nginx
// - `2026-10-10T13:55:36.123Z`, ISO 8601; with a space instead of the T; with an offset; without a zone it is UTC
// - a number since the epoch: seconds, milliseconds, microseconds or nanoseconds, told apart by its size
// Invariant: the result is whole milliseconds of a real date between 1970 and 9999, or NaN.

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

const COMMON = /^(\d\d)\/([A-Z][a-z][a-z])\/(\d{4}):(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))? ([+-])(\d\d)(\d\d)$/
const ISO = /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?:Z|([+-])(\d\d):?(\d\d))?$/
const NUMBER = /^\d{1,19}(?:\.\d{1,9})?$/

const LAST_MS = Date.UTC(9999, 11, 31)
const MINUTE_MS = 60_000

/** Numbers below the first bound are seconds, then milliseconds, then microseconds. Larger ones are nanoseconds. */
const SECONDS_BELOW = 1e11
const MILLISECONDS_BELOW = 1e14
const MICROSECONDS_BELOW = 1e17

/** Reads times of a log. Neighbouring lines often have the same time, so the last one is kept. */
export class LogTimes {
  #lastText = ''
  #lastMs = Number.NaN

  /** Returns milliseconds since the epoch; NaN if the text is no time. */
  read(text: string): number {
    if (text === this.#lastText) return this.#lastMs
    this.#lastMs = timeOf(text)
    this.#lastText = text
    return this.#lastMs
  }
}

/** Returns milliseconds since the epoch; NaN if the text is no time. */
export function timeOf(text: string): number {
  const common = COMMON.exec(text)
  if (common !== null) {
    const [, day, month, year, hour, minute, second, fraction, sign, offsetHours, offsetMinutes] = common
    const monthNumber = MONTHS.indexOf(month) + 1
    return timeFrom([year, monthNumber, day, hour, minute, second], fraction, sign, offsetHours, offsetMinutes)
  }
  const iso = ISO.exec(text)
  if (iso !== null) {
    const [, year, month, day, hour, minute, second, fraction, sign, offsetHours, offsetMinutes] = iso
    return timeFrom([year, month, day, hour, minute, second], fraction, sign, offsetHours, offsetMinutes)
  }
  return NUMBER.test(text) ? inMilliseconds(Number(text)) : Number.NaN
}

function timeFrom(
  parts: readonly (string | number)[],
  fraction = '',
  sign = '+',
  offsetHours = '0',
  offsetMinutes = '0',
): number {
  const [year, month, day, hour, minute, second] = parts.map(Number)
  // A leap second is the last moment of its minute.
  const isReal = month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month) && hour <= 23 && minute <= 59 && second <= 60
  const offset = (sign === '-' ? -1 : 1) * (Number(offsetHours) * 60 + Number(offsetMinutes)) * MINUTE_MS
  const ms = second === 60 ? 999 : Number(fraction.padEnd(3, '0').slice(0, 3))
  const time = Date.UTC(year, month - 1, day, hour, minute, Math.min(second, 59), ms) - offset
  return isReal ? bounded(time) : Number.NaN
}

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate()
}

function inMilliseconds(number: number): number {
  if (number < SECONDS_BELOW) return bounded(Math.floor(number * 1000 + 1e-6))
  if (number < MILLISECONDS_BELOW) return bounded(Math.floor(number))
  return bounded(Math.floor(number / (number < MICROSECONDS_BELOW ? 1e3 : 1e6)))
}

function bounded(timeMs: number): number {
  return timeMs >= 0 && timeMs <= LAST_MS ? timeMs : Number.NaN
}
