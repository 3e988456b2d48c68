// A bucket of tokens that starts full and fills again with time: bursts up to `capacity`, `refill` per `every` in the long run.

import { type Duration, durationMs, formatDuration } from '../../core/duration.ts'
import { checkOptions } from '../../core/options.ts'
import {
  checkRuleChoice,
  checkRuleNumber,
  type PerOf,
  type PerOption,
  type Rule,
  type RuleOptions,
  ruleName,
  rulePer,
} from '../../core/rule.ts'
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

const OPTIONS = ['capacity', 'refill', 'every', 'style', 'name', 'per'] as const

/** Bursts up to `capacity`, and `refill` per `every` in the long run. */
export function tokenBucket<const P extends PerOption = undefined>(options: TokenBucketOptions<P>): Rule<PerOf<P>> {
  checkOptions('tokenBucket', options, OPTIONS)
  const { capacity, refill, every, style = 'smooth' } = options
  checkRuleNumber('tokenBucket', 'capacity', capacity)
  checkRuleNumber('tokenBucket', 'refill', refill)
  checkRuleChoice('tokenBucket', 'style', style, ['smooth', 'stepped'])
  const everyMs = durationMs(every, 'every')
  const per = rulePer(options.per as P)
  const name = ruleName(
    options,
    `token-bucket:${capacity}+${refill}/${formatDuration(everyMs)}${style === 'stepped' ? ':stepped' : ''}`,
  )
  return new Meter({ name, per, of: 'tokenBucket', capacity, capacityName: 'capacity', refill, everyMs, style })
}
