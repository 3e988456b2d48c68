// The boundaries of calendars against a slow model: it asks Intl about every hour, writes the local time as text, and compares texts.

import { describe, expect, test } from 'vitest'
import { Calendar } from './calendar.ts'
import { type CalendarPeriod, readStartsOn, WEEKDAYS } from './period-start.ts'
import { TimeZone } from './time-zone.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Zones with the years that `npm test` looks at: changes at midnight, of half an hour, of two hours, and days that were skipped. */
const ZONES: Readonly<Record<string, readonly number[]>> = {
  UTC: [2000],
  'Europe/Berlin': [1980, 2026],
  'Europe/Dublin': [1971],
  'Africa/Casablanca': [2025],
  'Africa/Monrovia': [1972],
  'Africa/Cairo': [2014],
  'America/New_York': [2007],
  'America/St_Johns': [2006],
  'America/Sao_Paulo': [2018],
  'America/Havana': [2012],
  'America/Caracas': [2007],
  'Antarctica/Troll': [2026],
  'Asia/Beirut': [2022],
  'Asia/Kathmandu': [1986],
  'Asia/Kolkata': [2100],
  'Asia/Tehran': [2021],
  'Australia/Lord_Howe': [1985],
  'Pacific/Apia': [2011],
  'Pacific/Chatham': [2027],
  'Pacific/Kwajalein': [1993],
}

/** The years of a zone: a few, or with TEST_LONG all of 1970 to 2100. */
function spansOf(zone: string): readonly (readonly [from: number, to: number])[] {
  if (process.env.TEST_LONG !== undefined) return [[Date.UTC(1970, 0, 1), Date.UTC(2101, 0, 1)]]
  return ZONES[zone].map((year) => [Date.UTC(year, 0, 1), Date.UTC(year + 1, 0, 3)])
}

const CALENDARS: readonly (readonly [CalendarPeriod, string | number])[] = [
  ['day', ''],
  ['day', '02:30'],
  ['week', 'sunday 02:00'],
  ['month', ''],
  ['month', '28 23:59'],
  ['month', 15],
  ['year', ''],
  ['year', '02-28 00:01'],
]

/** Returns a function that writes local times, such as 2026-03-29 03:00:00. */
function localText(timeZone: string): (timeMs: number) => string {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
  return (timeMs) => format.format(timeMs)
}

/** Returns the date so many days later. */
const addDays = (date: string, days: number): string =>
  new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10)

/** Returns the name of the period that contains a local time: the local date on which it starts. */
function periodOf(every: CalendarPeriod, startsOn: string | number, local: string): string {
  const [date, time] = local.split(' ')
  const words = String(startsOn).split(' ')
  const startTime = words.find((word) => word.includes(':')) ?? '00:00'
  const startDay = words.find((word) => word !== '' && !word.includes(':'))
  const day = time >= startTime ? date : addDays(date, -1)
  if (every === 'day') return day
  const [year, month] = [day.slice(0, 4), day.slice(0, 7)]
  if (every === 'week') {
    const weekday = WEEKDAYS.findIndex((name) => name === (startDay ?? 'monday'))
    const today = (new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7
    return addDays(day, -((today - weekday + 7) % 7))
  }
  if (every === 'month') {
    const start = (startDay ?? '1').padStart(2, '0')
    return day.slice(8) >= start ? `${month}-${start}` : `${addDays(`${month}-01`, -1).slice(0, 7)}-${start}`
  }
  const start = startDay ?? '01-01'
  return day.slice(5) >= start ? `${year}-${start}` : `${Number(year) - 1}-${start}`
}

function calendarOf(every: CalendarPeriod, startsOn: string | number, timeZone: string): Calendar {
  const start = readStartsOn(every, startsOn === '' ? undefined : startsOn)
  const zone = TimeZone.named(timeZone)
  if (start === undefined || zone === undefined) throw new Error('no calendar')
  return new Calendar(every, start, zone)
}

/** The boundaries of one calendar, compared with the model hour by hour. */
class Comparison {
  readonly #every: CalendarPeriod
  readonly #startsOn: string | number
  readonly #calendar: Calendar
  readonly #local: (timeMs: number) => string
  #period = ''
  #known = { startOfLast: 0, startOfThis: 0, startOfNext: 0, endOfNext: 0 }
  windows = 0

  constructor(every: CalendarPeriod, startsOn: string | number, timeZone: string, local: (timeMs: number) => string) {
    this.#every = every
    this.#startsOn = startsOn
    this.#calendar = calendarOf(every, startsOn, timeZone)
    this.#local = local
  }

  /** `latest` is the latest local time that clocks have shown by now. Clocks that are set back do not bring a period back. */
  look(timeMs: number, latest: string): void {
    const period = periodOf(this.#every, this.#startsOn, latest)
    const isNew = period !== this.#period
    const known = this.#known
    if (isNew || timeMs % (997 * HOUR_MS) === 0) this.#known = this.#calendar.boundariesAround(timeMs)
    const { startOfLast, startOfThis, startOfNext, endOfNext } = this.#known
    const where = `${new Date(timeMs).toISOString()} ${latest} ${period}`
    if (!isNew) {
      if (startOfThis !== known.startOfThis || timeMs < startOfThis || timeMs >= startOfNext) throw new Error(`${where}: moved`)
      return
    }
    if (this.#period !== '') {
      const follows = startOfLast === known.startOfThis && startOfThis === known.startOfNext && startOfNext === known.endOfNext
      if (!follows) throw new Error(`${where}: ${JSON.stringify([known, this.#known])} do not follow`)
      if (startOfThis > timeMs || startOfThis <= timeMs - HOUR_MS) throw new Error(`${where}: starts at ${startOfThis}`)
      // The window starts with the first second that the clocks show in the period.
      const [before, after] = [startOfThis - 1000, startOfThis].map((ms) =>
        periodOf(this.#every, this.#startsOn, this.#local(ms)),
      )
      if (before >= period || after < period) throw new Error(`${where}: ${before} before ${startOfThis}, ${after} after it`)
    }
    if (!(startOfLast < startOfThis && startOfThis < startOfNext && startOfNext < endOfNext))
      throw new Error(`${where}: not in order`)
    this.#period = period
    this.windows += 1
  }
}

describe('boundaries are those of a model that asks Intl about every hour', () => {
  test.each(Object.keys(ZONES))('%s', { timeout: 600_000 }, (timeZone) => {
    const local = localText(timeZone)
    for (const [fromMs, toMs] of spansOf(timeZone)) {
      const comparisons = CALENDARS.map(([every, startsOn]) => new Comparison(every, startsOn, timeZone, local))
      let latest = ''
      let offset = 0
      for (let timeMs = fromMs; timeMs < toMs; timeMs += HOUR_MS) {
        const text = local(timeMs)
        const offsetNow = Date.parse(`${text.replace(' ', 'T')}Z`) - timeMs
        // In an hour in which clocks are changed, every minute is asked.
        const minutes = offsetNow === offset ? [] : Array.from({ length: 60 }, (_, i) => local(timeMs - HOUR_MS + i * 60_000))
        for (const each of [...minutes, text]) if (each > latest) latest = each
        offset = offsetNow
        for (const comparison of comparisons) comparison.look(timeMs, latest)
      }
      const days = (toMs - fromMs) / DAY_MS
      expect(comparisons[0].windows).toBeGreaterThan(days - 3)
      expect(comparisons[6].windows).toBeGreaterThanOrEqual(Math.floor(days / 366))
    }
  })
})

/** The boundaries around a time, as texts in UTC. */
function around(calendar: Calendar, time: string): readonly string[] {
  const { startOfLast, startOfThis, startOfNext, endOfNext } = calendar.boundariesAround(Date.parse(time))
  return [startOfLast, startOfThis, startOfNext, endOfNext].map((ms) => new Date(ms).toISOString().replace(/(:00)?\.000Z$/, 'Z'))
}

describe('boundaries in known places', () => {
  test.each<[string, readonly [CalendarPeriod, string | number, string], string, readonly string[]]>([
    [
      'a day of 23 hours',
      ['day', '', 'Europe/Berlin'],
      '2026-03-29T12:00Z',
      ['2026-03-27T23:00Z', '2026-03-28T23:00Z', '2026-03-29T22:00Z', '2026-03-30T22:00Z'],
    ],
    [
      'a day of 25 hours',
      ['day', '', 'Europe/Berlin'],
      '2026-10-25T12:00Z',
      ['2026-10-23T22:00Z', '2026-10-24T22:00Z', '2026-10-25T23:00Z', '2026-10-26T23:00Z'],
    ],
    [
      'a start that does not exist is the first time that does',
      ['day', '02:30', 'Europe/Berlin'],
      '2026-03-29T12:00Z',
      ['2026-03-28T01:30Z', '2026-03-29T01:00Z', '2026-03-30T00:30Z', '2026-03-31T00:30Z'],
    ],
    [
      'a start that exists twice is the first',
      ['day', '02:30', 'Europe/Berlin'],
      '2026-10-25T12:00Z',
      ['2026-10-24T00:30Z', '2026-10-25T00:30Z', '2026-10-26T01:30Z', '2026-10-27T01:30Z'],
    ],
    [
      'a midnight that does not exist',
      ['day', '', 'America/Sao_Paulo'],
      '2018-11-04T12:00Z',
      ['2018-11-03T03:00Z', '2018-11-04T03:00Z', '2018-11-05T02:00Z', '2018-11-06T02:00Z'],
    ],
    [
      'an evening that comes again after midnight belongs to the new day',
      ['day', '', 'America/St_Johns'],
      '2006-10-29T02:45Z',
      ['2006-10-28T02:30Z', '2006-10-29T02:30Z', '2006-10-30T03:30Z', '2006-10-31T03:30Z'],
    ],
    [
      'a Friday that Samoa skipped',
      ['day', '', 'Pacific/Apia'],
      '2011-12-30T09:59Z',
      ['2011-12-28T10:00Z', '2011-12-29T10:00Z', '2011-12-30T10:00Z', '2011-12-31T10:00Z'],
    ],
    [
      'a start on the day that was skipped',
      ['week', 'friday 12:00', 'Pacific/Apia'],
      '2011-12-30T10:00Z',
      ['2011-12-23T22:00Z', '2011-12-30T10:00Z', '2012-01-05T22:00Z', '2012-01-12T22:00Z'],
    ],
    [
      'a Saturday that Kwajalein skipped',
      ['day', '', 'Pacific/Kwajalein'],
      '1993-08-21T12:30Z',
      ['1993-08-20T12:00Z', '1993-08-21T12:00Z', '1993-08-22T12:00Z', '1993-08-23T12:00Z'],
    ],
    [
      'half an hour of daylight saving',
      ['day', '02:00', 'Australia/Lord_Howe'],
      '2026-04-05T00:00Z',
      ['2026-04-03T15:00Z', '2026-04-04T15:30Z', '2026-04-05T15:30Z', '2026-04-06T15:30Z'],
    ],
    [
      'three quarters of an hour',
      ['month', '', 'Asia/Kathmandu'],
      '2026-02-10T00:00Z',
      ['2025-12-31T18:15Z', '2026-01-31T18:15Z', '2026-02-28T18:15Z', '2026-03-31T18:15Z'],
    ],
    [
      'seconds',
      ['day', '', 'Africa/Monrovia'],
      '1971-10-29T12:00Z',
      ['1971-10-28T00:44:30Z', '1971-10-29T00:44:30Z', '1971-10-30T00:44:30Z', '1971-10-31T00:44:30Z'],
    ],
    [
      'a leap day',
      ['month', 28, 'UTC'],
      '2028-02-29T23:59Z',
      ['2028-01-28T00:00Z', '2028-02-28T00:00Z', '2028-03-28T00:00Z', '2028-04-28T00:00Z'],
    ],
    [
      'a year with a leap day, from a day after it',
      ['year', '03-01', 'UTC'],
      '2028-02-29T23:59Z',
      ['2026-03-01T00:00Z', '2027-03-01T00:00Z', '2028-03-01T00:00Z', '2029-03-01T00:00Z'],
    ],
    [
      'a century without a leap day',
      ['year', '02-28', 'UTC'],
      '2100-03-01T00:00Z',
      ['2099-02-28T00:00Z', '2100-02-28T00:00Z', '2101-02-28T00:00Z', '2102-02-28T00:00Z'],
    ],
    [
      'the epoch',
      ['week', '', 'UTC'],
      '1970-01-01T00:00Z',
      ['1969-12-22T00:00Z', '1969-12-29T00:00Z', '1970-01-05T00:00Z', '1970-01-12T00:00Z'],
    ],
  ])('%s', (_, [every, startsOn, timeZone], time, expected) => {
    expect(around(calendarOf(every, startsOn, timeZone), time)).toEqual(expected)
  })

  test('the last years of Date have none', () => {
    const calendar = calendarOf('year', '', 'Europe/Berlin')
    const latestMs = 8.64e15 - 4 * 366 * DAY_MS
    expect(calendar.boundariesAround(latestMs).endOfNext).toBeLessThan(8.64e15)
    expect(() => calendar.boundariesAround(latestMs + 1)).toThrow(expect.objectContaining({ code: 'ERR_CLOCK' }))
  })
})

test('no zone of this runtime changes its clocks twice within two days', { timeout: 600_000 }, () => {
  // Samples are half a day apart, so that three of them see both changes.
  const isLong = process.env.TEST_LONG !== undefined
  const zones = Intl.supportedValuesOf('timeZone').filter((_, i) => isLong || i % 60 === 0)
  for (const name of zones) {
    const zone = TimeZone.named(name) as TimeZone
    const [fromMs, toMs] = isLong ? [Date.UTC(1969, 0), Date.UTC(2045, 0)] : [Date.UTC(2006, 0), Date.UTC(2012, 0)]
    let changedMs = Number.NEGATIVE_INFINITY
    let before = zone.localMs(fromMs) - fromMs
    for (let timeMs = fromMs; timeMs < toMs; timeMs += DAY_MS / 2) {
      const offset = zone.localMs(timeMs) - timeMs
      if (offset === before) continue
      expect(timeMs - changedMs, `${name} ${new Date(timeMs).toISOString()}`).toBeGreaterThan(3 * DAY_MS)
      before = offset
      changedMs = timeMs
    }
  }
})
