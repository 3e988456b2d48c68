// Counts as short text.

const WHOLE = new Intl.NumberFormat('en')
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** All digits, with commas. */
export function fullCount(count: number): string {
  return WHOLE.format(count)
}

/** At most four digits: 12,345 becomes '12.3K'. */
export function shortCount(count: number): string {
  return count < 10_000 ? WHOLE.format(count) : SHORT.format(count)
}

/** A number of checks a second: '0', '0.2', '12.5', '1,234'. A small rate is never shown as none. */
export function rateText(rate: number): string {
  if (rate > 0 && rate < 0.1) return '< 0.1'
  return rate < 100 ? String(Number(rate.toFixed(1))) : shortCount(Math.round(rate))
}

/** A share: '0%', '< 1%', '12%'. */
export function shareText(part: number, whole: number): string {
  if (part === 0 || whole === 0) return '0%'
  const percent = (part / whole) * 100
  return percent < 1 ? '< 1%' : `${Math.round(percent)}%`
}

/** A count with its noun: '1 check', '2 checks'. */
export function howMany(count: number, one: string, many = `${one}s`): string {
  return `${fullCount(count)} ${count === 1 ? one : many}`
}
