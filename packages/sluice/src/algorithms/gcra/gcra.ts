// The generic cell rate algorithm: `limit` per `period`, evenly spaced, of which `burst` may come at once.

import { type Duration, durationMs, formatDuration } from '../../core/duration.ts'
import { checkOptions } from '../../core/options.ts'
import { checkRuleNumber, type Rule, type RuleOptions, ruleName } from '../../core/rule.ts'
import { Meter } from '../meter/meter.ts'

export interface GcraOptions extends RuleOptions {
  /** How many units a period lets through in the long run. */
  readonly limit: number
  readonly period: Duration
  /** How many units may come at once; `limit` unless said. */
  readonly burst?: number
}

const OPTIONS = ['limit', 'period', 'burst', 'name'] as const

/** `limit` per `period`, evenly spaced, of which `burst` may come at once. */
export function gcra(options: GcraOptions): Rule {
  checkOptions('gcra', options, OPTIONS)
  const { limit, period, burst = limit } = options
  checkRuleNumber('gcra', 'limit', limit)
  checkRuleNumber('gcra', 'burst', burst)
  const everyMs = durationMs(period, 'period')
  const name = ruleName(options.name, `gcra:${burst}+${limit}/${formatDuration(everyMs)}`)
  return new Meter({ name, of: 'gcra', capacity: burst, capacityName: 'burst', refill: limit, everyMs, style: 'smooth' })
}
