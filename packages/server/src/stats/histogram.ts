// How often a value fell below each of a few bounds: what Prometheus calls a histogram.

export class Histogram {
  readonly bounds: readonly number[]
  /** One for each bound, and one for what lies above all of them. Not summed up. */
  readonly counts: Float64Array
  sum = 0

  /** `bounds` rise. */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    let bucket = 0
    while (bucket < this.bounds.length && value > this.bounds[bucket]) bucket += 1
    this.counts[bucket] += 1
    this.sum += value
  }
}

/** For how long something took, in seconds: from 50 µs, which a check in memory stays below, to what nobody waits for. */
export const DURATION_BOUNDS = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
] as const

/** For how much of a limit a key had used after a check. */
export const UTILIZATION_BOUNDS = [0.25, 0.5, 0.75, 1] as const
