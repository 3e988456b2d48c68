// Concurrency: a number of places that are held and given back. The rule has nothing but holds: `heldStep` counts them, and the cells
// stay 0.

import { type Duration, formatDuration } from '../../core/duration.ts'
import {
  type Per,
  type PerOf,
  type PerOption,
  type Rule,
  type RuleOptions,
  type RuleParameters,
  ruleName,
  rulePer,
} from '../../core/rule.ts'
import { type KindsOf, readOptions } from '../../core/rule-options.ts'
import { MAX } from '../../core/whole-numbers.ts'

export interface ConcurrencyOptions<P extends PerOption = PerOption> extends RuleOptions<P> {
  /** Places that can be held at once. */
  readonly limit: number
  /** Time after which a place is free again if nobody gives it back. A `reserve` can say otherwise. */
  readonly ttl: Duration
}

export const CONCURRENCY_OPTIONS = {
  limit: { kind: 'units' },
  ttl: { kind: 'duration' },
} as const satisfies KindsOf<ConcurrencyOptions>

/** Allows at most `limit` holders at once. Needs `reserve`: a place is held until it is given back, or until its `ttl` is over. */
export function concurrency<const P extends PerOption = undefined>(options: ConcurrencyOptions<P>): Rule<PerOf<P>> {
  return new Concurrency<PerOf<P>>(options)
}

class Concurrency<P extends Per> implements Rule<P> {
  readonly per: P
  readonly algorithm = 'concurrency'
  readonly name: string
  readonly limit: number
  readonly windowMs: number
  readonly countsDenied = false
  readonly isHeld = true
  readonly width = 2
  readonly mostUsed = MAX
  readonly parameters: RuleParameters

  constructor(options: ConcurrencyOptions) {
    const { limit, ttl } = readOptions('concurrency', options, CONCURRENCY_OPTIONS)
    this.limit = limit
    this.windowMs = ttl
    this.per = rulePer(options.per) as P
    this.name = ruleName(options, `concurrency:${limit}/${formatDuration(ttl)}`)
    // A call brings the time of its hold.
    this.parameters = { limit }
    Object.freeze(this)
  }

  settle(): void {}

  take(_cells: Float64Array, _at: number, _nowMs: number, cost: number): number {
    return cost > this.limit ? Number.POSITIVE_INFINITY : 0
  }

  waitMs(_cells: Float64Array, _at: number, _nowMs: number, cost: number): number {
    return cost > this.limit ? Number.POSITIVE_INFINITY : 0
  }

  spend(): void {}

  used(): number {
    return 0
  }

  put(): void {}

  refund(): void {}
}
