// The report of one instance: its statistics, as it publishes them for the others.
// Invariant: a text of another version that cannot be read is left out, and its instance is counted as unreadable.

import type { PolicyStats } from '../stats/policy-stats.ts'
import { COLUMNS, type Column, RING_SECONDS } from '../stats/second-ring.ts'
import type { Stats } from '../stats/stats.ts'
import { isCount, isTime } from './published-numbers.ts'
import { type PublishedShadows, readShadows } from './published-shadows.ts'

/** Seconds of the published series: enough for an instance that publishes rarely to be shown without a gap. */
export const SERIES_SECONDS = 120

/** Policies in a report. The others are not published. */
const MOST_POLICIES = 20

/** `stopped`: the instance has ended in order. */
const STATES = ['starting', 'ready', 'draining', 'stopped'] as const

export type Counts = Readonly<Record<Column, number>>

export interface PolicyCounts extends Counts {
  readonly name: string
}

export interface InstanceReport {
  readonly version: string
  readonly state: (typeof STATES)[number]
  readonly startedMs: number
  /** Time until the next text, in ms. */
  readonly everyMs: number
  /** Checks since the start. */
  readonly totals: Counts
  /** The last second of the series, in seconds since the epoch, by the clock of the instance. */
  readonly lastSecond: number
  /** Counts of each second, oldest first. */
  readonly series: Readonly<Record<Column, readonly number[]>>
  /** The busiest policies of the last hour. */
  readonly policies: readonly PolicyCounts[]
  /** Policies in shadow mode. Undefined in a report of another version. */
  readonly shadows: PublishedShadows | undefined
}

export function reportOf(stats: Stats, facts: Pick<InstanceReport, 'version' | 'state' | 'everyMs' | 'shadows'>): InstanceReport {
  const lastSecond = Math.floor(stats.now() / 1000)
  const busiest = stats
    .policies()
    .map((policy) => countsOf(policy, lastSecond))
    .sort((a, b) => checksOf(b) - checksOf(a))
  return {
    ...facts,
    startedMs: stats.startedMs,
    totals: stats.total.totals(),
    lastSecond,
    series: byColumn((column) => stats.total.ring.read(column, lastSecond, SERIES_SECONDS)),
    policies: busiest.slice(0, MOST_POLICIES).filter((policy) => checksOf(policy) > 0),
  }
}

export function checksOf({ allowed, denied, shadow_denied, errors }: Counts): number {
  return allowed + denied + shadow_denied + errors
}

export function byColumn<T>(of: (column: Column) => T): Record<Column, T> {
  return Object.fromEntries(COLUMNS.map((column) => [column, of(column)])) as Record<Column, T>
}

/** Returns undefined if the text has another form. */
export function readReport(text: string): InstanceReport | undefined {
  try {
    const report = JSON.parse(text) as InstanceReport
    const { version, state, startedMs, everyMs, totals, lastSecond, series, policies } = report
    const isRight =
      typeof version === 'string' &&
      STATES.includes(state) &&
      [startedMs, everyMs, lastSecond].every(isTime) &&
      isCounts(totals) &&
      COLUMNS.every((column) => isSeries(series[column])) &&
      policies.length <= MOST_POLICIES &&
      policies.every((policy) => typeof policy.name === 'string' && isCounts(policy))
    return isRight ? { ...report, shadows: readShadows(report.shadows) } : undefined
  } catch {
    return undefined
  }
}

function countsOf({ name, ring }: PolicyStats, lastSecond: number): PolicyCounts {
  const sum = (column: Column) => ring.read(column, lastSecond, RING_SECONDS).reduce((total, count) => total + count, 0)
  return { name, ...byColumn(sum) }
}

function isCounts(counts: Counts): boolean {
  return COLUMNS.every((column) => isCount(counts[column]))
}

function isSeries(series: readonly number[]): boolean {
  return Array.isArray(series) && series.length === SERIES_SECONDS && series.every(isCount)
}
