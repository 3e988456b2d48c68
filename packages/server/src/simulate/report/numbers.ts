// Numbers and times of a report as text, the same on a terminal and on a page.

/** Formats a share: `1.9 %`. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return '0 %'
  const value = (part / whole) * 100
  return part > 0 && value < 0.01 ? '< 0.01 %' : `${Number(value.toPrecision(2))} %`
}

/** Formats a time to the second, without the zone, which is UTC. */
export function shortTime(time: string | null): string {
  return time === null ? '' : time.slice(0, 19).replace('T', ' ')
}

/** Formats two times. If they are on the same day, the day is written once. */
export function timeRange(first: string | null, last: string | null): string {
  const [from, to] = [shortTime(first), shortTime(last)]
  if (from === '' || from === to) return from
  return `${from} to ${from.slice(0, 10) === to.slice(0, 10) ? to.slice(11) : to}`
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

/** Formats a length of time in its largest unit, rounded: `5 minutes`. */
export function lengthOf(seconds: number): string {
  const [noun, unit] = UNITS.find(([, length]) => seconds >= length) ?? UNITS[3]
  return numberOf(Math.round(seconds / unit), noun)
}

/** Formats 1234567 as 1,234,567. */
export function grouped(value: number): string {
  return value.toLocaleString('en-US')
}

/** Formats a number with its noun: `1 line`, `2 lines`. */
export function numberOf(value: number, noun: string): string {
  return `${grouped(value)} ${noun}${value === 1 ? '' : 's'}`
}
