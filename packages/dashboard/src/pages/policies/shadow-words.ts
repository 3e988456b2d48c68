// The words for the report of a policy in shadow mode.

import type { ShadowReport } from '../../api/answers.ts'
import { fullCount, howMany, shareText } from '../../words/count-text.ts'
import { fullTime } from '../../words/time-text.ts'

/** Says in one sentence what it would have denied. */
export function shadowText({ since, checks, denied }: Pick<ShadowReport, 'since' | 'checks' | 'denied'>): string {
  if (since === null) return 'In shadow mode it has decided no check yet.'
  const all = `Since ${fullTime(since)} it has decided ${howMany(checks, 'check')} in shadow mode`
  return denied === 0
    ? `${all}, and would have denied none of them.`
    : `${all}, and would have denied ${fullCount(denied)} of them (${shareText(denied, checks)}).`
}

/** A count that may be too high by `error`: '12', or '10 to 12'. */
export function countText(denied: number, error: number): string {
  return error === 0 ? fullCount(denied) : `${fullCount(denied - error)} to ${fullCount(denied)}`
}

/** Says which instances the report is the sum of, and which it lacks. */
export function instancesText({
  instances,
  uncounted_instances,
  problem,
}: Pick<ShadowReport, 'instances' | 'uncounted_instances' | 'problem'>): string {
  if (problem !== null) return `Counts of one instance only, because the others are not known now: ${problem}.`
  const lacks =
    uncounted_instances === 0
      ? ''
      : `, without ${howMany(uncounted_instances, 'instance')} that cannot tell: of another version, or with too many policies in shadow mode`
  return instances.length === 1 ? `Counts of one instance${lacks}.` : `Sums of ${instances.length} instances${lacks}.`
}
