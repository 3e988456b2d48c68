// A bucket that hits fill and that leaks: what would make it overflow is denied. The token bucket's mirror image.

import { type Duration, durationMs, formatDuration } from '../../core/duration.ts'
import { checkOptions } from '../../core/options.ts'
import { checkRuleNumber, type Rule, type RuleOptions, ruleName } from '../../core/rule.ts'
import { Meter } from '../meter/meter.ts'

export interface LeakyBucketOptions extends RuleOptions {
  /** How many units the bucket holds before it overflows. */
  readonly capacity: number
  /** How many units leak out every `every`. */
  readonly leak: number
  readonly every: Duration
}

const OPTIONS = ['capacity', 'leak', 'every', 'name'] as const

/** Fills with each hit and leaks `leak` units per `every`; a hit that would overflow `capacity` is denied. */
export function leakyBucket(options: LeakyBucketOptions): Rule {
  checkOptions('leakyBucket', options, OPTIONS)
  const { capacity, leak, every } = options
  checkRuleNumber('leakyBucket', 'capacity', capacity)
  checkRuleNumber('leakyBucket', 'leak', leak)
  const everyMs = durationMs(every, 'every')
  const name = ruleName(options.name, `leaky-bucket:${capacity}-${leak}/${formatDuration(everyMs)}`)
  return new Meter({ name, of: 'leakyBucket', capacity, capacityName: 'capacity', refill: leak, everyMs, style: 'smooth' })
}
