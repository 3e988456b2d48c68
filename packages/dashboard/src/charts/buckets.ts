// Groups counts by the second into the steps that a chart shows.

import { OUTCOMES, type Outcome, type Stats } from '../api/answers.ts'

export interface Buckets extends Readonly<Record<Outcome, readonly number[]>> {
  /** Start of each step, in seconds since the epoch. */
  readonly times: readonly number[]
  readonly stepSeconds: number
}

/**
 * Groups by steps that begin at multiples of `stepSeconds`, so that steps do not shift between answers.
 * Leaves out the current second and steps that the answer covers only in part.
 */
export function bucketed(stats: Stats, stepSeconds: number): Buckets {
  const end = stats.from + stats.seconds - 1
  const first = Math.ceil(stats.from / stepSeconds) * stepSeconds
  const count = Math.max(0, Math.floor((end - first) / stepSeconds))
  const times = Array.from({ length: count }, (_, i) => first + i * stepSeconds)
  const sums = (counts: readonly number[]) => times.map((time) => sum(counts, time - stats.from, time - stats.from + stepSeconds))
  const columns = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, sums(stats[outcome])])) as Record<Outcome, number[]>
  return { times, stepSeconds, ...columns }
}

export function sum(counts: readonly number[], from = 0, to = counts.length): number {
  let total = 0
  for (let i = Math.max(0, from); i < Math.min(to, counts.length); i++) total += counts[i]
  return total
}
