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

/** Formats 1234567 as 1,234,567. */
export function grouped(value: number): string {
  return value.toLocaleString('en-US')
}

/** Formats a number with its noun: `1 line`, `2 lines`. */
export function numberOf(value: number, noun: string): string {
  return `${grouped(value)} ${noun}${value === 1 ? '' : 's'}`
}
