// A bucket that hits fill and that leaks: what would make it overflow is denied. The token bucket's mirror image.

import { type Duration, durationMs, formatDuration } from '../../core/duration.ts'
import { checkOptions } from '../../core/options.ts'
import { checkRuleNumber, type PerOf, type PerOption, type Rule, type RuleOptions, ruleName, rulePer } from '../../core/rule.ts'
import { Meter } from '../meter/meter.ts'

export interface LeakyBucketOptions<P extends PerOption = PerOption> extends RuleOptions<P> {
  /** How many units the bucket holds before it overflows. */
  readonly capacity: number
  /** How many units leak out every `every`. */
  readonly leak: number
  readonly every: Duration
}

const OPTIONS = ['capacity', 'leak', 'every', 'name', 'per'] as const

/** Fills with each hit and leaks `leak` units per `every`; a hit that would overflow `capacity` is denied. */
export function leakyBucket<const P extends PerOption = undefined>(options: LeakyBucketOptions<P>): Rule<PerOf<P>> {
  checkOptions('leakyBucket', options, OPTIONS)
  const { capacity, leak, every } = options
  checkRuleNumber('leakyBucket', 'capacity', capacity)
  checkRuleNumber('leakyBucket', 'leak', leak)
  const everyMs = durationMs(every, 'every')
  const per = rulePer(options.per as P)
  const name = ruleName(options, `leaky-bucket:${capacity}-${leak}/${formatDuration(everyMs)}`)
  return new Meter({ name, per, of: 'leakyBucket', capacity, capacityName: 'capacity', refill: leak, everyMs, style: 'smooth' })
}
