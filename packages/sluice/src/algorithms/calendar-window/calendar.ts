// The calendar of a rule: periods of a time zone, and the times at which they start.

import { mustBe } from '../../core/errors.ts'
import { MAX_TIME_MS } from '../../core/whole-numbers.ts'
import type { Boundaries } from './bounded-window.ts'
import { dayMs, monthAt } from './civil-time.ts'
import type { CalendarPeriod, PeriodStart } from './period-start.ts'
import type { TimeZone } from './time-zone.ts'

const DAY_MS = 86_400_000
const WEEK_MS = 7 * DAY_MS

/** The epoch was a Thursday. The first Monday came so much later. */
const FIRST_MONDAY_MS = 4 * DAY_MS

/** Boundaries are up to two years ahead. The last years of JavaScript's Date have none. */
const LATEST_MS = MAX_TIME_MS - 4 * 366 * DAY_MS

/** Numbers the periods of a calendar, in local time. */
interface Periods {
  /** Returns the number of the period that contains a local time. */
  indexAt(localMs: number): number
  /** Returns the local time at which a period starts. */
  startOf(index: number): number
}

const PERIODS: Readonly<Record<CalendarPeriod, (start: PeriodStart) => Periods>> = {
  day: ({ timeMs }) => evenPeriods(timeMs, DAY_MS),
  week: ({ weekday, timeMs }) => evenPeriods(FIRST_MONDAY_MS + weekday * DAY_MS + timeMs, WEEK_MS),
  month: (start) => monthlyPeriods(start, 1),
  year: (start) => monthlyPeriods(start, 12),
}

function evenPeriods(firstMs: number, lengthMs: number): Periods {
  return {
    indexAt: (localMs) => Math.floor((localMs - firstMs) / lengthMs),
    startOf: (index) => firstMs + index * lengthMs,
  }
}

/** Periods of so many months. */
function monthlyPeriods({ month, day, timeMs }: PeriodStart, months: number): Periods {
  const startOf = (index: number): number => dayMs(month + index * months, day) + timeMs
  return {
    startOf,
    indexAt(localMs) {
      const index = Math.floor(monthAt(localMs) / months)
      return localMs < startOf(index) ? index - 1 : index
    },
  }
}

export class Calendar {
  readonly #periods: Periods
  readonly #zone: TimeZone

  constructor(every: CalendarPeriod, start: PeriodStart, zone: TimeZone) {
    this.#periods = PERIODS[every](start)
    this.#zone = zone
  }

  /** Returns the boundaries of the window that contains a time, and of the windows before and after it. */
  boundariesAround(nowMs: number): Boundaries {
    if (nowMs > LATEST_MS) throw mustBe('ERR_CLOCK', 'the time of a calendar', `at most ${LATEST_MS} ms since the epoch`, nowMs)
    let index = this.#periods.indexAt(this.#zone.localMs(nowMs))
    let startOfThis = this.#startOf(index)
    let startOfNext = this.#startOf(index + 1)
    // Clocks that were set back show the end of a period again, after the next one has begun.
    while (startOfNext <= nowMs) {
      index += 1
      startOfThis = startOfNext
      startOfNext = this.#startOf(index + 1)
    }
    return {
      startOfLast: this.#startBeside(index, startOfThis, -1),
      startOfThis,
      startOfNext,
      endOfNext: this.#startBeside(index + 1, startOfNext, 1),
    }
  }

  /** Returns the nearest start in a direction that is at another time than this one. A zone that skips a day skips periods. */
  #startBeside(index: number, startMs: number, direction: 1 | -1): number {
    for (let other = index + direction; ; other += direction) {
      const otherMs = this.#startOf(other)
      if (otherMs !== startMs) return otherMs
    }
  }

  #startOf(index: number): number {
    return this.#zone.firstTimeAt(this.#periods.startOf(index))
  }
}
