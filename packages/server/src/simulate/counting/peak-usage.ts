// The highest usage of each client under each rule, and from it the smallest limit that touches only few clients.
// Invariant: a client stays untouched by a rule with the limit n exactly if its peak is at most n. replay/raised-limits.ts says why.

import { OTHERS } from './client-table.ts'

/** Shares of the clients that stay untouched, by the name of the field in a report. */
export const SHARES = { p99: 0.99, p999: 0.999, all: 1 } as const

const FIRST_SIZE = 64

export interface SmallestLimits {
  /** Clients of the table with a request under the rule. */
  readonly clients: number
  readonly p99: number
  readonly p999: number
  readonly all: number
}

/** The peaks of one rule by client. */
export class Peaks {
  /** 0 if the client has no request under the rule. */
  #peaks = new Float64Array(FIRST_SIZE)

  /** Notes the usage of a client after a request. */
  note(index: number, used: number): void {
    if (index === OTHERS) return
    if (index >= this.#peaks.length) {
      const larger = new Float64Array(Math.max(index + 1, this.#peaks.length * 2))
      larger.set(this.#peaks)
      this.#peaks = larger
    }
    if (used > this.#peaks[index]) this.#peaks[index] = used
  }

  /** Returns the peaks of all clients with a request, sorted. */
  sorted(): Float64Array {
    return this.#peaks.filter((peak) => peak > 0).sort()
  }
}

export class PeakUsage {
  /** Peaks by policy and rule. */
  readonly #peaks = new Map<string, Map<string, Peaks>>()

  /** Returns the peaks of a rule. */
  of(policy: string, rule: string): Peaks {
    const rules = this.#peaks.get(policy) ?? new Map<string, Peaks>()
    this.#peaks.set(policy, rules)
    const peaks = rules.get(rule) ?? new Peaks()
    rules.set(rule, peaks)
    return peaks
  }

  /** Returns undefined if no client of the table has a request under the rule. */
  smallestLimits(policy: string, rule: string): SmallestLimits | undefined {
    const peaks = this.#peaks.get(policy)?.get(rule)?.sorted()
    if (peaks === undefined || peaks.length === 0) return undefined
    return {
      clients: peaks.length,
      p99: smallest(peaks, SHARES.p99),
      p999: smallest(peaks, SHARES.p999),
      all: smallest(peaks, SHARES.all),
    }
  }
}

/** Returns the smallest limit under which at least this share of the clients stays untouched. `peaks` are sorted. */
function smallest(peaks: Float64Array, share: number): number {
  // The product may be a little too high, as in 0.99 × 100, because shares are not exact in binary.
  const untouched = Math.ceil(Number((share * peaks.length).toFixed(6)))
  return peaks[Math.max(1, untouched) - 1]
}
