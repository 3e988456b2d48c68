// A bucket of tokens that starts full and fills again with time: bursts up to `capacity`, `refill` per `every` in the long run.

import { type Duration, formatDuration } from '../../core/duration.ts'
import { type PerOf, type PerOption, type Rule, type RuleOptions, ruleName, rulePer } from '../../core/rule.ts'
import { type KindsOf, readOptions } from '../../core/rule-options.ts'
import { Meter } from '../meter/meter.ts'

export interface TokenBucketOptions<P extends PerOption = PerOption> extends RuleOptions<P> {
  /** How many tokens the bucket holds: the largest burst. */
  readonly capacity: number
  /** How many tokens come back every `every`. */
  readonly refill: number
  readonly every: Duration
  /**
   * `'smooth'` (default): refills continuously, exact to the millisecond. `'stepped'`: adds `refill` tokens at each whole
   * `every` since the bucket was last topped up.
   */
  readonly style?: 'smooth' | 'stepped'
}

export const TOKEN_BUCKET_OPTIONS = {
  capacity: { kind: 'units' },
  refill: { kind: 'units' },
  every: { kind: 'duration' },
  style: { kind: 'choice', choices: ['smooth', 'stepped'] },
} as const satisfies KindsOf<TokenBucketOptions>

/** Bursts up to `capacity`, and `refill` per `every` in the long run. */
export function tokenBucket<const P extends PerOption = undefined>(options: TokenBucketOptions<P>): Rule<PerOf<P>> {
  const { capacity, refill, every: everyMs, style } = readOptions('tokenBucket', options, TOKEN_BUCKET_OPTIONS)
  const per = rulePer(options.per as P)
  const name = ruleName(
    options,
    `token-bucket:${capacity}+${refill}/${formatDuration(everyMs)}${style === 'stepped' ? ':stepped' : ''}`,
  )
  return new Meter({ name, per, of: 'tokenBucket', capacity, capacityName: 'capacity', refill, everyMs, style })
}
