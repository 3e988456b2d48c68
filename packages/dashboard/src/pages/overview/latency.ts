// How long deciding takes, from two readings of a histogram: what lies between them is what happened between them.

import type { HistogramAnswer } from '../../api/answers.ts'

/** The bound that so large a share stayed below, in seconds; Infinity: above all bounds; undefined: nothing was measured. */
export function quantile(
  { bounds, counts }: HistogramAnswer,
  before: HistogramAnswer | undefined,
  share: number,
): number | undefined {
  const since = counts.map((count, i) => count - (before?.counts[i] ?? 0))
  const all = since.reduce((sum, count) => sum + count, 0)
  if (all <= 0) return undefined
  let seen = 0
  for (let i = 0; i < bounds.length; i++) {
    seen += since[i]
    if (seen >= share * all) return bounds[i]
  }
  return Number.POSITIVE_INFINITY
}

/** '< 50 µs', '< 2.5 ms', '> 1 s', 'none yet': short enough for the card of a figure. */
export function latencyText(seconds: number | undefined, highest: number): string {
  if (seconds === undefined) return 'none yet'
  if (seconds === Number.POSITIVE_INFINITY) return `> ${shortSeconds(highest)}`
  return `< ${shortSeconds(seconds)}`
}

function shortSeconds(seconds: number): string {
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`
  if (seconds < 1) return `${Number((seconds * 1000).toFixed(1))} ms`
  return `${seconds} s`
}
