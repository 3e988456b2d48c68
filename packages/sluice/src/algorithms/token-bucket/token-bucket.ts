// The token bucket. It starts full, each hit takes tokens, and `refill` tokens come back per `every`, up to `capacity`.

import { type Duration, formatDuration } from '../../core/duration.ts'
import { type PerOf, type PerOption, type Rule, type RuleOptions, ruleName, rulePer } from '../../core/rule.ts'
import { type KindsOf, readOptions } from '../../core/rule-options.ts'
import { Meter } from '../meter/meter.ts'

export interface TokenBucketOptions<P extends PerOption = PerOption> extends RuleOptions<P> {
  /** Tokens that the bucket holds: the largest burst. */
  readonly capacity: number
  /** Tokens that come back in each period. */
  readonly refill: number
  /** Length of the period in which the refill comes back. */
  readonly every: Duration
  /**
   * Tokens come back a little every millisecond (default), or the whole refill at the end of each period, counted from
   * the hit that took the first token of a full bucket.
   */
  readonly style?: 'smooth' | 'stepped'
}

export const TOKEN_BUCKET_OPTIONS = {
  capacity: { kind: 'units' },
  refill: { kind: 'units' },
  every: { kind: 'duration' },
  style: { kind: 'choice', choices: ['smooth', 'stepped'] },
} as const satisfies KindsOf<TokenBucketOptions>

/** Allows bursts up to `capacity`, and `refill` per `every` in the long run. */
export function tokenBucket<const P extends PerOption = undefined>(options: TokenBucketOptions<P>): Rule<PerOf<P>> {
  const { capacity, refill, every: everyMs, style } = readOptions('tokenBucket', options, TOKEN_BUCKET_OPTIONS)
  const per = rulePer(options.per as P)
  const name = ruleName(
    options,
    `token-bucket:${capacity}+${refill}/${formatDuration(everyMs)}${style === 'stepped' ? ':stepped' : ''}`,
  )
  return new Meter({ name, per, maker: 'tokenBucket', capacity, capacityName: 'capacity', refill, everyMs, style })
}
