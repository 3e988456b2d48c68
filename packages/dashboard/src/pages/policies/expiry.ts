// The end of a policy: quick choices, and the form that the date field of a browser has.
// Invariant: times are shown and chosen in the time zone of the browser, and stored in UTC.

export type EndName = 'hour' | 'tomorrow' | 'week' | 'never'

/** Quick choices of an end. `tomorrow` is eight in the morning, when people are at work again. */
export const ENDS: readonly { readonly name: EndName; readonly label: string }[] = [
  { name: 'hour', label: 'in an hour' },
  { name: 'tomorrow', label: 'tomorrow 08:00' },
  { name: 'week', label: 'in a week' },
  { name: 'never', label: 'never' },
]

const HOUR_MS = 3_600_000

/** Returns the end in RFC 3339; an empty text for `never`. */
export function endAt(name: EndName, now: Date): string {
  if (name === 'never') return ''
  if (name === 'tomorrow') return utc(new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1, 8))
  return utc(new Date(now.getTime() + (name === 'hour' ? HOUR_MS : 7 * 24 * HOUR_MS)))
}

/** Returns the value of a date field. Empty if the text is no time. */
export function localText(end: string): string {
  const time = new Date(end)
  if (end === '' || Number.isNaN(time.getTime())) return ''
  const two = (part: number) => String(part).padStart(2, '0')
  const date = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`
  return `${date}T${two(time.getHours())}:${two(time.getMinutes())}`
}

/** Reads the value of a date field. */
export function readLocal(text: string): string {
  const time = new Date(text)
  return text === '' || Number.isNaN(time.getTime()) ? '' : utc(time)
}

function utc(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z')
}
