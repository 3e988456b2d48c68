// The spans of time that the overview shows. Up to an hour, the service counts by the second. Beyond that, it counts by the hour.

export interface Span {
  /** Its length in seconds, as the address of the page has it. */
  readonly name: string
  readonly label: string
  /** Length of a step of the chart. Undefined if the service counts this span by the hour. */
  readonly stepSeconds?: number
  /** The time for which the chart shows counts. */
  readonly unit: 'second' | 'hour' | 'day'
}

const HOUR = 3600

export const SPANS = [
  { name: '300', label: '5 min', stepSeconds: 2, unit: 'second' },
  { name: '900', label: '15 min', stepSeconds: 5, unit: 'second' },
  { name: '3600', label: 'Hour', stepSeconds: 15, unit: 'second' },
  { name: '86400', label: 'Day', unit: 'hour' },
  { name: '604800', label: 'Week', unit: 'hour' },
  { name: '2678400', label: 'Month', unit: 'day' },
] as const satisfies readonly Span[]

/** The span that is asked for, or the shortest. */
export function spanNamed(name: string): Span {
  return SPANS.find((span) => span.name === name) ?? SPANS[0]
}

export function secondsOf({ name }: Span): number {
  return Number(name)
}

/** Hours to read from the history. Undefined if the span is counted by the second. */
export function hoursOf(span: Span): number | undefined {
  return span.stepSeconds === undefined ? secondsOf(span) / HOUR : undefined
}
