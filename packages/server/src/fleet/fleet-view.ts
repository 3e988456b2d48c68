// The reports of all instances together.
// Invariant: sums contain each instance once. An instance that is gone counts in no sum of the present.

import { byColumn, type Counts, checksOf, type InstanceReport, type PolicyCounts, SERIES_SECONDS } from './instance-report.ts'

/** An instance is gone if it has missed this many texts. */
const MISSED_TEXTS = 3

/** An instance of the fleet. `gone`: it has not published for too long. */
export interface FleetInstance {
  readonly id: string
  readonly isSelf: boolean
  readonly state: InstanceReport['state'] | 'gone'
  readonly ageMs: number
  readonly report: InstanceReport
}

export interface FleetView {
  /** The answering instance first, then by start. */
  readonly instances: readonly FleetInstance[]
  /** Instances whose text cannot be read, such as those of a newer version. */
  readonly unreadable: number
  /** Number of instances that are up. */
  readonly up: number
  /** Checks since the start of each instance that is up. */
  readonly totals: Counts
  /** The last second of the series, by the clock of the answering instance. */
  readonly lastSecond: number
  /** Sums of the instances that are up. The newest seconds may lack instances that have not published them yet. */
  readonly series: Readonly<Record<keyof Counts, readonly number[]>>
  /** Sums of the last hour, busiest first. */
  readonly policies: readonly PolicyCounts[]
  /** The reason why other instances are not known; undefined if they are. */
  readonly problem: string | undefined
}

export function stateOf({ state, everyMs }: InstanceReport, ageMs: number): FleetInstance['state'] {
  return state !== 'stopped' && ageMs > MISSED_TEXTS * everyMs ? 'gone' : state
}

export function isUp({ state }: FleetInstance): boolean {
  return state !== 'gone' && state !== 'stopped'
}

export function fleetView(
  instances: readonly FleetInstance[],
  { unreadable, lastSecond, problem }: Pick<FleetView, 'unreadable' | 'lastSecond' | 'problem'>,
): FleetView {
  const up = instances.filter(isUp).map(({ report }) => report)
  return {
    instances: [...instances].sort(inOrder),
    unreadable,
    up: up.length,
    totals: byColumn((column) => up.reduce((sum, { totals }) => sum + totals[column], 0)),
    lastSecond,
    series: byColumn((column) =>
      Array.from({ length: SERIES_SECONDS }, (_, i) => {
        const second = lastSecond - SERIES_SECONDS + 1 + i
        return up.reduce(
          (sum, { series, lastSecond: last }) => sum + (series[column][second - last + SERIES_SECONDS - 1] ?? 0),
          0,
        )
      }),
    ),
    policies: sumsOf(up.flatMap(({ policies }) => policies)),
    problem,
  }
}

function sumsOf(policies: readonly PolicyCounts[]): PolicyCounts[] {
  const sums = new Map<string, PolicyCounts>()
  for (const { name, ...counts } of policies) {
    const known = sums.get(name)
    sums.set(name, { name, ...byColumn((column) => counts[column] + (known?.[column] ?? 0)) })
  }
  return [...sums.values()].sort((a, b) => checksOf(b) - checksOf(a))
}

function inOrder(a: FleetInstance, b: FleetInstance): number {
  return Number(b.isSelf) - Number(a.isSelf) || a.report.startedMs - b.report.startedMs || (a.id < b.id ? -1 : 1)
}
