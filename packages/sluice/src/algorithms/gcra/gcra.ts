// The generic cell rate algorithm: `limit` per `period`, evenly spaced, of which `burst` may come at once.

import { type Duration, formatDuration } from '../../core/duration.ts'
import { type Rule, type RuleOptions, ruleName } from '../../core/rule.ts'
import { type KindsOf, readOptions } from '../../core/rule-options.ts'
import { Meter } from '../meter/meter.ts'

export interface GcraOptions extends RuleOptions {
  /** Units that a period lets through in the long run. */
  readonly limit: number
  /** Length of a period. */
  readonly period: Duration
  /** Units that may come at once. As many as the limit by default. */
  readonly burst?: number
}

export const GCRA_OPTIONS = {
  limit: { kind: 'units' },
  period: { kind: 'duration' },
  burst: { kind: 'units', sameAs: 'limit' },
} as const satisfies KindsOf<GcraOptions>

/** `limit` per `period`, evenly spaced, of which `burst` may come at once. */
export function gcra(options: GcraOptions): Rule {
  const { limit, period: everyMs, burst } = readOptions('gcra', options, GCRA_OPTIONS)
  const name = ruleName(options.name, `gcra:${burst}+${limit}/${formatDuration(everyMs)}`)
  return new Meter({ name, of: 'gcra', capacity: burst, capacityName: 'burst', refill: limit, everyMs, style: 'smooth' })
}
