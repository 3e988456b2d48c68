// The generic cell rate algorithm (GCRA): `limit` per `period`, evenly spaced, of which `burst` may come at once.

import { type Duration, formatDuration } from '../../core/duration.ts'
import { type PerOf, type PerOption, type Rule, type RuleOptions, ruleName, rulePer } from '../../core/rule.ts'
import { type KindsOf, readOptions } from '../../core/rule-options.ts'
import { Meter } from '../meter/meter.ts'

export interface GcraOptions<P extends PerOption = PerOption> extends RuleOptions<P> {
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

/** Allows `limit` per `period`, evenly spaced, of which `burst` may come at once. */
export function gcra<const P extends PerOption = undefined>(options: GcraOptions<P>): Rule<PerOf<P>> {
  const { limit, period: everyMs, burst } = readOptions('gcra', options, GCRA_OPTIONS)
  const per = rulePer(options.per as P)
  const name = ruleName(options, `gcra:${burst}+${limit}/${formatDuration(everyMs)}`)
  return new Meter({ name, per, maker: 'gcra', capacity: burst, capacityName: 'burst', refill: limit, everyMs, style: 'smooth' })
}
