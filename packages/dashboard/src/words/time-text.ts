// Times as text, in the time zone of the browser.

const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })

/** '14:02:11'. */
export function clockTime(time: string): string {
  return CLOCK.format(new Date(time))
}

/** '14 Nov 2026, 14:02:11'. */
export function fullTime(time: string): string {
  const date = new Date(time)
  return `${DAY.format(date)}, ${CLOCK.format(date)}`
}

/** A rough age: 'just now', '5 min ago', '3 h ago', '12 d ago'. */
export function agoText(time: string, nowMs: number): string {
  const seconds = Math.max(0, (nowMs - Date.parse(time)) / 1000)
  if (seconds < 60) return 'just now'
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`
  return `${Math.floor(seconds / 86_400)} d ago`
}

/** A number of seconds to wait: '41 s', '2 min 5 s', '3 h 20 min', '2 d 4 h'. */
export function waitText(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`
  const [unit, size, less, lessSize] =
    seconds < 3600 ? ['min', 60, 's', 1] : seconds < 86_400 ? ['h', 3600, 'min', 60] : ['d', 86_400, 'h', 3600]
  const whole = Math.floor(seconds / Number(size))
  const rest = Math.floor((seconds - whole * Number(size)) / Number(lessSize))
  return rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${less}`
}
