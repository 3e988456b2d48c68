// Durations: typed ones, which the library reads, and text for pictures.

import { type Duration, durationMs } from 'sluice'

/** Milliseconds of '250ms', '10s', '1m' or of a plain number. Throws a SluiceError that names the accepted forms. */
export function typedDurationMs(text: string): number {
  return durationMs(/^\d+$/.test(text) ? Number(text) : (text as Duration), 'it')
}

/** A duration for reading: '250 ms', '1.5 s', '2 min', '3 h', '4 d'. */
export function spokenDuration(ms: number): string {
  if (ms === Number.POSITIVE_INFINITY) return 'for ever'
  if (ms < 1000) return `${ms} ms`
  if (ms < 60_000) return `${trimmed(ms / 1000)} s`
  if (ms < 3_600_000) return `${trimmed(ms / 60_000)} min`
  if (ms < 86_400_000) return `${trimmed(ms / 3_600_000)} h`
  return `${trimmed(ms / 86_400_000)} d`
}

/** A time on an axis of length `lengthMs`: '0', '10 s', '1.5 min'. The whole axis has one unit. */
export function axisTime(ms: number, lengthMs: number): string {
  if (ms === 0) return '0'
  const [unitMs, unit] =
    lengthMs <= 2000 ? [1, 'ms'] : lengthMs <= 120_000 ? [1000, 's'] : lengthMs <= 7_200_000 ? [60_000, 'min'] : [3_600_000, 'h']
  return `${trimmed(ms / unitMs)} ${unit}`
}

function trimmed(value: number): string {
  return String(Math.round(value * 100) / 100)
}
