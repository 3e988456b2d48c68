// The leaky bucket. Hits fill it, and it leaks. A hit that would make it overflow is denied. It mirrors the token bucket.

import { type Duration, formatDuration } from '../../core/duration.ts'
import { type PerOf, type PerOption, type Rule, type RuleOptions, ruleName, rulePer } from '../../core/rule.ts'
import { type KindsOf, readOptions } from '../../core/rule-options.ts'
import { Meter } from '../meter/meter.ts'

export interface LeakyBucketOptions<P extends PerOption = PerOption> extends RuleOptions<P> {
  /** Units that the bucket holds before it overflows. */
  readonly capacity: number
  /** Units that leak out in each period. */
  readonly leak: number
  /** Length of the period in which the leak runs out. */
  readonly every: Duration
}

export const LEAKY_BUCKET_OPTIONS = {
  capacity: { kind: 'units' },
  leak: { kind: 'units' },
  every: { kind: 'duration' },
} as const satisfies KindsOf<LeakyBucketOptions>

/** Fills with each hit and leaks `leak` units per `every`; a hit that would overflow `capacity` is denied. */
export function leakyBucket<const P extends PerOption = undefined>(options: LeakyBucketOptions<P>): Rule<PerOf<P>> {
  const { capacity, leak, every: everyMs } = readOptions('leakyBucket', options, LEAKY_BUCKET_OPTIONS)
  const per = rulePer(options.per as P)
  const name = ruleName(options, `leaky-bucket:${capacity}-${leak}/${formatDuration(everyMs)}`)
  return new Meter({
    name,
    per,
    maker: 'leakyBucket',
    capacity,
    capacityName: 'capacity',
    refill: leak,
    everyMs,
    style: 'smooth',
  })
}
