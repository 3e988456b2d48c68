// A histogram for Prometheus: counts values by a few upper bounds.

export class Histogram {
  readonly bounds: readonly number[]
  /** One count for each bound, and one for values above all bounds. Not cumulative. */
  readonly counts: Float64Array
  sum = 0

  /** `bounds` must be ascending. */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  /** Counts a value, which occurred `times` times. */
  observe(value: number, times = 1): void {
    let bucket = 0
    while (bucket < this.bounds.length && value > this.bounds[bucket]) bucket += 1
    this.counts[bucket] += times
    this.sum += value * times
  }
}

/** Bounds for durations in seconds. A check in memory takes less than 50 µs. */
export const DURATION_BOUNDS = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
] as const

/** Bounds for the used share of a limit after a check. */
export const UTILIZATION_BOUNDS = [0.25, 0.5, 0.75, 1] as const
