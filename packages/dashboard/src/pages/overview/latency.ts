// The time of a decision, from two readings of a histogram. Their difference covers the time between them.

import type { Histogram } from '../../api/answers.ts'

/** The bound, in seconds, that this share of values stayed below. Infinity: above all bounds. Undefined: no values. */
export function quantile({ bounds, counts }: Histogram, before: Histogram | undefined, share: number): number | undefined {
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

/** '< 50 µs', '< 2.5 ms', '> 1 s', 'none yet': short enough for a card. */
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
