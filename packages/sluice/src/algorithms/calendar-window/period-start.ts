// The option `startsOn`: the place in a day, week, month or year where periods start.

export const PERIODS = ['day', 'week', 'month', 'year'] as const

/** A unit of the calendar. */
export type CalendarPeriod = (typeof PERIODS)[number]

export const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const

export type Weekday = (typeof WEEKDAYS)[number]

/** A time of day from `'00:00'` to `'23:59'`. */
export type TimeOfDay = `${number}:${number}`

/** A day, a time of day, or both. */
type DayAndTime<D extends string | number> = D | TimeOfDay | `${D} ${TimeOfDay}`

/**
 * Start of a period, by its length: a time of day such as `'09:00'`; a weekday such as `'monday'`; a day of the month from 1 to 28; a
 * month and day such as `'04-06'`. A time of day may follow a day: `'monday 09:00'`.
 */
export type StartsOn<E extends CalendarPeriod = CalendarPeriod> = {
  readonly day: TimeOfDay
  readonly week: DayAndTime<Weekday>
  readonly month: DayAndTime<number>
  readonly year: DayAndTime<`${number}-${number}`>
}[E]

/** The start of a period. Fields that its length does not need are 0. */
export interface PeriodStart {
  /** 0 is Monday. */
  readonly weekday: number
  /** 0 is January. */
  readonly month: number
  /** 0 is the first day of the month. */
  readonly day: number
  readonly timeMs: number
  /** The shortest text with this meaning. It is empty for the default: midnight on the first day. */
  readonly text: string
}

type Place = Pick<PeriodStart, 'weekday' | 'month' | 'day'>

const FIRST: Place = { weekday: 0, month: 0, day: 0 }

/** Days of each month in a year without a leap day. */
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Every month has so many days. */
const MOST_DAYS = 28

/** Reads a day; undefined if it is none. */
const READERS: Readonly<Record<CalendarPeriod, (day: string) => Place | undefined>> = {
  day: () => undefined,
  week(day) {
    const weekday = WEEKDAYS.indexOf(day as Weekday)
    return weekday < 0 ? undefined : { ...FIRST, weekday }
  },
  month: (day) => (/^[1-9]\d?$/.test(day) && Number(day) <= MOST_DAYS ? { ...FIRST, day: Number(day) - 1 } : undefined),
  year(text) {
    const [, month, day] = (/^(\d\d)-(\d\d)$/.exec(text) ?? []).map(Number)
    return day >= 1 && day <= MONTH_DAYS[month - 1] ? { ...FIRST, month: month - 1, day: day - 1 } : undefined
  },
}

/** Matches a day, a time of day, both with a space between them, or nothing. */
const SHAPE = /^(?:([a-z\d-]+)(?: (?=\d)|$))?(?:([01]\d|2[0-3]):([0-5]\d))?$/

/** Completes the sentence 'startsOn must be …'. */
export const STARTS_ON_WORDS: Readonly<Record<CalendarPeriod, string>> = {
  day: "a time of day such as '09:00', if every is 'day'",
  week: "such as 'monday', '09:00' or 'monday 09:00', if every is 'week'",
  month: "a day from 1 to 28, or such as '09:00' or '15 09:00', if every is 'month'",
  year: "such as '04-06', '09:00' or '04-06 09:00', and not 02-29, if every is 'year'",
}

/** Reads the option `startsOn`. Returns undefined if it is no start of such a period. */
export function readStartsOn(every: CalendarPeriod, startsOn: unknown): PeriodStart | undefined {
  if (startsOn === undefined) return { ...FIRST, timeMs: 0, text: '' }
  if (startsOn === '' || !(typeof startsOn === 'string' || typeof startsOn === 'number')) return undefined
  const match = SHAPE.exec(String(startsOn))
  if (match === null) return undefined
  const [, day, hours = '00', minutes = '00'] = match
  const place = day === undefined ? FIRST : READERS[every](day)
  // A day of the month alone is a number, and nothing else is: each start has one spelling.
  const isNumber = every === 'month' && day === match[0]
  if (place === undefined || isNumber !== (typeof startsOn === 'number')) return undefined
  const isFirst = place.weekday + place.month + place.day === 0
  const timeMs = (Number(hours) * 60 + Number(minutes)) * 60_000
  const texts = [...(isFirst ? [] : [day]), ...(timeMs === 0 ? [] : [`${hours}:${minutes}`])]
  return { ...place, timeMs, text: texts.join(' ') }
}
