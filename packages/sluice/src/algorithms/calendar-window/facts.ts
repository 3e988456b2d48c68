// The facts about the calendar window.

import { describeRule } from '../../core/rule-facts.ts'
import { CALENDAR_WINDOW_OPTIONS, calendarWindow } from './calendar-window.ts'

export const calendarWindowFacts = /* @__PURE__ */ describeRule({
  algorithm: 'calendar-window',
  call: 'calendarWindow',
  make: calendarWindow,
  title: 'Calendar window',
  summary: 'a count that starts anew with each day, week, month or year of a time zone',
  purpose: 'a quota of the calendar: so many a month',
  worstCase: '2 × `limit` around a boundary, within milliseconds',
  kinds: CALENDAR_WINDOW_OPTIONS,
  options: {
    limit: { label: 'Limit', help: 'Units that a window lets through.' },
    every: {
      label: 'Every',
      choices: { day: 'day', week: 'week', month: 'month', year: 'year' },
      help: 'Length of a window: a day, week, month or year of the calendar.',
    },
    startsOn: {
      label: 'Starts on',
      sample: '09:00',
      help: "Start of the windows, such as '09:00', 'monday', 15 or '04-06', with a time of day or without. By default midnight of the first day.",
    },
    timeZone: {
      label: 'Time zone',
      sample: 'Europe/Berlin',
      help: 'Time zone of the calendar, by its IANA name.',
    },
  },
  rate: { units: 'limit', every: 'every', isCalendar: true },
  inWords({ limit, every, startsOn, timeZone = 'UTC' }) {
    const start = startsOn === undefined ? '' : ` from ${startsOn}`
    return `${limit} every calendar ${every}${start}${timeZone === 'UTC' ? '' : `, ${timeZone}`}`
  },
  example: { limit: 10_000, every: 'month' },
  forms: {
    plain: { limit: 5, every: 'day' },
    // Clocks are changed on Sundays around this time, so that one boundary a year does not exist, and one exists twice.
    'by the week': { limit: 7, every: 'week', startsOn: 'sunday 02:30', timeZone: 'Europe/Berlin' },
  },
  translation: {
    algorithms: ['calendar-window'],
    file: 'calendar-window/calendar-window.lua',
    define: 'defineCalendarWindow',
    shortWay: 'calendarWindowShortWay',
    plpgsql: 'calendar-window/calendar-window.plpgsql',
    parameters: ['limit', 'startOfLast', 'startOfThis', 'startOfNext', 'endOfNext'],
  },
})
