// The reason of an outcome, in one line.

import type { CheckEvent } from '../../api/answers.ts'
import { fullCount } from '../../words/count-text.ts'
import { waitText } from '../../words/time-text.ts'

export function whyText({ reason, rule, limit, remain, retry_after_ms, cost, source }: CheckEvent): string {
  const withoutStore = source === 'fallback' ? ', decided without the store' : ''
  switch (reason) {
    case 'off':
      return 'the policy is off'
    case 'cost':
      return `cost ${fullCount(cost)} is above the limit of ${fullCount(limit)} of ${rule}${withoutStore}`
    case 'fallback':
      return 'the store did not answer, and nothing was counted'
    case 'store':
      return 'the store did not answer'
    case 'within':
      return `${fullCount(remain)} of ${fullCount(limit)} left of ${rule}${withoutStore}`
    default: {
      const retry = retry_after_ms === null ? 'never passes' : `passes in ${waitText(retry_after_ms / 1000)}`
      return `${rule} is used up: ${fullCount(remain)} of ${fullCount(limit)} left, ${retry}${withoutStore}`
    }
  }
}
