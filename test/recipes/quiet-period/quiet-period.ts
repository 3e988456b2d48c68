// At most `limit` units until the key has been quiet for a while. Cells: expiresAt, used.

import { type Duration, formatDuration } from '../../core/duration.ts'
import { type Per, type Rule, type RuleOptions, type RuleParameters, ruleName, rulePer, takeByMethods } from '../../core/rule.ts'
import { type KindsOf, readOptions } from '../../core/rule-options.ts'
import { MAX } from '../../core/whole-numbers.ts'

export interface QuietPeriodOptions extends RuleOptions {
  readonly limit: number
  readonly pause: Duration
  readonly from?: 'last-hit' | 'first-hit'
}

export const QUIET_PERIOD_OPTIONS = {
  limit: { kind: 'units' },
  pause: { kind: 'duration' },
  from: { kind: 'choice', choices: ['last-hit', 'first-hit'] },
} as const satisfies KindsOf<QuietPeriodOptions>

const EXPIRES_AT = 0
const USED = 1

/** At most `limit` units, all of which come back after a pause without hits. */
export function quietPeriod(options: QuietPeriodOptions): Rule {
  return new QuietPeriod(options)
}

class QuietPeriod implements Rule {
  readonly algorithm = 'quiet-period'
  readonly name: string
  readonly per: Per
  readonly limit: number
  readonly windowMs: number
  readonly countsDenied = false
  readonly width = 2
  readonly mostUsed = MAX
  readonly restarts: boolean
  readonly parameters: RuleParameters

  constructor(options: QuietPeriodOptions) {
    const { limit, pause: windowMs, from } = readOptions('quietPeriod', options, QUIET_PERIOD_OPTIONS)
    this.limit = limit
    this.windowMs = windowMs
    this.restarts = from === 'last-hit'
    this.per = rulePer(options.per)
    this.name = ruleName(options, `quiet-period:${limit}/${formatDuration(windowMs)}${this.restarts ? '' : ':first-hit'}`)
    this.parameters = { limit, windowMs, restarts: this.restarts }
    Object.freeze(this)
  }

  settle(cells: Float64Array, at: number, nowMs: number): void {
    if (nowMs >= cells[at + EXPIRES_AT]) {
      cells[at + EXPIRES_AT] = 0
      cells[at + USED] = 0
    } else if (cells[at + EXPIRES_AT] > nowMs + this.windowMs) {
      cells[at + EXPIRES_AT] = nowMs + this.windowMs
    }
  }

  take(cells: Float64Array, at: number, nowMs: number, cost: number): number {
    return takeByMethods(this, cells, at, nowMs, cost)
  }

  waitMs(cells: Float64Array, at: number, nowMs: number, cost: number): number {
    if (cost > this.limit) return Number.POSITIVE_INFINITY
    if (cells[at + USED] <= this.limit - cost) return 0
    return cells[at + EXPIRES_AT] - nowMs
  }

  spend(cells: Float64Array, at: number, nowMs: number, cost: number): void {
    if (this.restarts || cells[at + EXPIRES_AT] === 0) cells[at + EXPIRES_AT] = nowMs + this.windowMs
    cells[at + USED] = Math.min(cells[at + USED] + cost, MAX)
  }

  used(cells: Float64Array, at: number): number {
    return cells[at + USED]
  }

  put(cells: Float64Array, at: number, nowMs: number, used: number): void {
    cells[at + EXPIRES_AT] = nowMs + this.windowMs
    cells[at + USED] = used
  }

  refund(cells: Float64Array, at: number, _nowMs: number, cost: number): void {
    cells[at + USED] = Math.max(0, cells[at + USED] - cost)
  }
}
