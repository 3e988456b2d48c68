// Labels of a time axis, in the time zone of the browser: times of the day, and dates where days are shown.

/** Possible steps between labels, in seconds. Small enough for a phone. */
export const TIME_STEPS: number[] = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 20, 30].map((minutes) => minutes * 60),
  ...[1, 2, 3, 4, 6, 12].map((hours) => hours * 3600),
  ...[1, 2, 3, 4, 5, 7, 10, 14].map((days) => days * 86_400),
]

const LONGEST_STEP_BELOW_A_MINUTE = 30

/** From this length on, an axis shows a date at the start of each day. */
const SHOWS_DAYS_SECONDS = 12 * 3600

/** Gap between two labels, in pixels. */
const LABEL_GAP = 12

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

/** A wide date of each month. Names of months have other widths in other fonts. */
const DATES = Array.from({ length: 12 }, (_, month) => DAY.format(new Date(2026, month, 28)))

/** Widths of the labels in pixels. */
export interface LabelWidths {
  /** '00:00:00'. */
  readonly seconds: number
  /** '00:00'. */
  readonly minutes: number
  /** '28 Nov'. */
  readonly day: number
}

export function labelWidths(widthOf: (text: string) => number): LabelWidths {
  return { seconds: widthOf('00:00:00'), minutes: widthOf('00:00'), day: Math.max(...DATES.map(widthOf)) }
}

/** Returns the distance between labels of an axis, in pixels. Labels of whole minutes are shorter and need less. */
export function labelSpace({ seconds, minutes, day }: LabelWidths, lengthSeconds: number, pixels: number): number {
  if (lengthSeconds >= SHOWS_DAYS_SECONDS) return Math.max(minutes, day) + LABEL_GAP
  const short = minutes + LABEL_GAP
  return (lengthSeconds / pixels) * short > LONGEST_STEP_BELOW_A_MINUTE ? short : seconds + LABEL_GAP
}

export function timeLabel(atSeconds: number, lengthSeconds: number): string {
  const date = new Date(atSeconds * 1000)
  const [hours, minutes, seconds] = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) =>
    String(part).padStart(2, '0'),
  )
  const clock = seconds === '00' ? `${hours}:${minutes}` : `${hours}:${minutes}:${seconds}`
  return lengthSeconds >= SHOWS_DAYS_SECONDS && clock === '00:00' ? DAY.format(date) : clock
}
