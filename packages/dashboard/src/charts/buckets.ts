// Groups counts into the steps that a chart shows.

import { type Activity, type History, OUTCOMES, type Outcome, type Stats } from '../api/answers.ts'

export interface Buckets extends Readonly<Record<Outcome, readonly number[]>> {
  /** Start of each step, in seconds since the epoch. */
  readonly times: readonly number[]
  readonly stepSeconds: number
  /** The chart shows counts for each time of this length: a second, a minute, an hour or a day. */
  readonly unitSeconds: number
}

/** Counts by the second. */
export type Seconds = Omit<Stats, 'policies' | 'policies_complete' | 'since_start'>

/** Counts by the hour. */
export type Hours = Omit<History, 'policies' | 'policies_complete' | 'started_at'>

const MINUTE = 60
const HOUR = 3600
const DAY = 86_400

/**
 * Groups by steps that begin at multiples of `stepSeconds`, so that steps do not shift between answers.
 * Leaves out the current second and steps that the answer covers only in part.
 */
export function bucketed(stats: Seconds, stepSeconds: number): Buckets {
  const end = stats.from + stats.seconds - 1
  const first = Math.ceil(stats.from / stepSeconds) * stepSeconds
  const count = Math.max(0, Math.floor((end - first) / stepSeconds))
  const times = Array.from({ length: count }, (_, i) => first + i * stepSeconds)
  const sums = (counts: readonly number[]) => times.map((time) => sum(counts, time - stats.from, time - stats.from + stepSeconds))
  return { times, stepSeconds, unitSeconds: 1, ...byOutcome((outcome) => sums(stats[outcome])) }
}

/** The hours of a history. The last one is still running, and is shown, so that the first hour of an instance is not empty. */
export function hourly(history: Hours): Buckets {
  const times = Array.from({ length: history.hours }, (_, i) => history.from + i * HOUR)
  return { times, stepSeconds: HOUR, unitSeconds: HOUR, ...byOutcome((outcome) => history[outcome]) }
}

/** The days of a history, in the time zone of the browser. Leaves out a first day that is not whole. The last one is still running. */
export function daily(history: Hours): Buckets {
  const days = Array.from({ length: history.hours }, (_, i) => dayOf(history.from + i * HOUR))
  const times = [...new Set(days)].filter((day) => day >= history.from)
  const sums = (counts: readonly number[]) => times.map((day) => sum(counts, days.indexOf(day), days.lastIndexOf(day) + 1))
  return { times, stepSeconds: DAY, unitSeconds: DAY, ...byOutcome((outcome) => sums(history[outcome])) }
}

/** The start of the day, in seconds since the epoch. */
function dayOf(seconds: number): number {
  return new Date(seconds * 1000).setHours(0, 0, 0, 0) / 1000
}

/** The minutes of a client. */
export function minutely({ from, minutes, allowed, denied }: Activity): Buckets {
  const times = Array.from({ length: minutes }, (_, i) => from + i * MINUTE)
  const nothing = times.map(() => 0)
  return { times, stepSeconds: MINUTE, unitSeconds: MINUTE, allowed, denied, shadow_denied: nothing, errors: nothing }
}

/** Adds up groups of `size` counts. The last group is whole, so that it does not change its length. */
export function grouped(counts: readonly number[], size: number): number[] {
  const first = counts.length % size
  const groups = first === 0 ? [] : [sum(counts, 0, first)]
  for (let at = first; at < counts.length; at += size) groups.push(sum(counts, at, at + size))
  return groups
}

export function sum(counts: readonly number[], from = 0, to = counts.length): number {
  let total = 0
  for (let i = Math.max(0, from); i < Math.min(to, counts.length); i++) total += counts[i]
  return total
}

function byOutcome(of: (outcome: Outcome) => readonly number[]): Record<Outcome, readonly number[]> {
  return Object.fromEntries(OUTCOMES.map((outcome) => [outcome, of(outcome)])) as Record<Outcome, readonly number[]>
}
