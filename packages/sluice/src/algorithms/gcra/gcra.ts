// The generic cell rate algorithm: `limit` per `period`, evenly spaced, of which `burst` may come at once.

import { type Duration, durationMs, formatDuration } from '../../core/duration.ts'
import { checkOptions } from '../../core/options.ts'
import { checkRuleNumber, type PerOf, type PerOption, type Rule, type RuleOptions, ruleName, rulePer } from '../../core/rule.ts'
import { Meter } from '../meter/meter.ts'

export interface GcraOptions<P extends PerOption = PerOption> extends RuleOptions<P> {
  /** How many units a period lets through in the long run. */
  readonly limit: number
  readonly period: Duration
  /** How many units may come at once; `limit` unless said. */
  readonly burst?: number
}

const OPTIONS = ['limit', 'period', 'burst', 'name', 'per'] as const

/** `limit` per `period`, evenly spaced, of which `burst` may come at once. */
export function gcra<const P extends PerOption = undefined>(options: GcraOptions<P>): Rule<PerOf<P>> {
  checkOptions('gcra', options, OPTIONS)
  const { limit, period, burst = limit } = options
  checkRuleNumber('gcra', 'limit', limit)
  checkRuleNumber('gcra', 'burst', burst)
  const everyMs = durationMs(period, 'period')
  const per = rulePer(options.per as P)
  const name = ruleName(options, `gcra:${burst}+${limit}/${formatDuration(everyMs)}`)
  return new Meter({ name, per, of: 'gcra', capacity: burst, capacityName: 'burst', refill: limit, everyMs, style: 'smooth' })
}
