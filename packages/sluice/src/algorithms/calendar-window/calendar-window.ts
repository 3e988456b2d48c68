// The calendar window: a count that starts again at 0 with each day, week, month or year of a time zone. bounded-window.ts has the
// definition. This file keeps the boundaries around the time that it was asked about last, because Intl is slow.

import type { Per, PerOf, PerOption, Rule, RuleOptions, RuleParameters } from '../../core/rule.ts'
import { ruleName, rulePer } from '../../core/rule.ts'
import { type KindsOf, readOptions, wrongOption } from '../../core/rule-options.ts'
import { BoundedWindow, CountByWindow, type Window } from './bounded-window.ts'
import { Calendar } from './calendar.ts'
import { type CalendarPeriod, PERIODS, readStartsOn, STARTS_ON_WORDS, type StartsOn } from './period-start.ts'
import { TimeZone } from './time-zone.ts'

export interface CalendarWindowOptions<P extends PerOption = PerOption, E extends CalendarPeriod = CalendarPeriod>
  extends RuleOptions<P> {
  /** Units that a window lets through. */
  readonly limit: number
  /** Length of a window: a day, week, month or year of the calendar. */
  readonly every: E
  /** Start of the windows, such as '09:00', 'monday', 15 or '04-06', with a time of day or without. By default midnight of the first day. */
  readonly startsOn?: StartsOn<E>
  /** Time zone of the calendar, by its IANA name. */
  readonly timeZone?: string
}

export const CALENDAR_WINDOW_OPTIONS = {
  limit: { kind: 'units' },
  every: { kind: 'choice', choices: PERIODS, isRequired: true },
  startsOn: { kind: 'text', takesNumbers: true },
  timeZone: { kind: 'text', default: 'UTC' },
} as const satisfies KindsOf<CalendarWindowOptions>

const DAY_MS = 86_400_000

/** The longest windows in UTC. In other zones a window may be an hour or two longer. */
const WINDOW_MS: Readonly<Record<CalendarPeriod, number>> = {
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 31 * DAY_MS,
  year: 366 * DAY_MS,
}

/** No window, so that the first call finds one. */
const NO_WINDOW: Window = { startMs: 0, endMs: 0 }

/**
 * Allows at most `limit` units in each day, week, month or year of a time zone. A day of 23 or 25 hours is one window. Around a
 * boundary, up to twice the limit can pass.
 */
export function calendarWindow<const P extends PerOption = undefined, const E extends CalendarPeriod = CalendarPeriod>(
  options: CalendarWindowOptions<P, E>,
): Rule<PerOf<P>> {
  return new CalendarWindow<PerOf<P>>(options as CalendarWindowOptions)
}

class CalendarWindow<P extends Per> extends CountByWindow<P> {
  readonly windowMs: number
  readonly parameters: RuleParameters
  readonly #calendar: Calendar
  /** The rule around the time that was asked about last, and its window in the middle. */
  #around: BoundedWindow<P> | undefined
  #window = NO_WINDOW

  constructor(options: CalendarWindowOptions) {
    const { limit, every, startsOn, timeZone } = readOptions('calendarWindow', options, CALENDAR_WINDOW_OPTIONS)
    const start = readStartsOn(every, startsOn)
    if (start === undefined) throw wrongOption('calendarWindow', 'startsOn', startsOn, STARTS_ON_WORDS[every])
    const zone = TimeZone.named(timeZone)
    if (zone === undefined) {
      const expected = "the name of a time zone that this runtime knows, such as 'Europe/Berlin'"
      throw wrongOption('calendarWindow', 'timeZone', timeZone, expected)
    }
    const extras = `${start.text === '' ? '' : `:${start.text}`}${timeZone === 'UTC' ? '' : `:${timeZone}`}`
    const name = ruleName(options, `calendar-window:${limit}/${every}${extras}`)
    super({ name, per: rulePer(options.per) as P, limit })
    this.windowMs = WINDOW_MS[every]
    this.parameters = { limit, every, startsOn: start.text, timeZone: timeZone as string }
    this.#calendar = new Calendar(every, start, zone)
    Object.freeze(this)
  }

  around(nowMs: number): Rule<P> {
    const { startMs, endMs } = this.#window
    if (this.#around !== undefined && nowMs >= startMs && nowMs < endMs) return this.#around
    return this.#move(nowMs)
  }

  protected windowAt(nowMs: number): Window {
    const window = this.#window
    return nowMs >= window.startMs && nowMs < window.endMs ? window : this.#move(nowMs).thisWindow
  }

  #move(nowMs: number): BoundedWindow<P> {
    this.#around = new BoundedWindow(this, this.#calendar.boundariesAround(nowMs))
    this.#window = this.#around.thisWindow
    return this.#around
  }
}
