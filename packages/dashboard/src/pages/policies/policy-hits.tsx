// The checks that each policy saw, and the share that it denied, in the last hour or month.

import { checksOf, type PolicyCounts } from '../../api/answers.ts'
import { usePolled } from '../../api/polled.ts'
import { fullCount, shareText, shortCount } from '../../words/count-text.ts'

export const HITS_SPANS = [
  ['hour', 'last hour'],
  ['month', 'last month'],
] as const

export type HitsSpan = (typeof HITS_SPANS)[number][0]

/** Sums by policy. A policy without checks has none. */
export interface PolicyHits {
  readonly byName: ReadonlyMap<string, PolicyCounts>
  /** False if more policies were in use than the service counts by name. Then a policy without a sum may have had checks. */
  readonly isComplete: boolean
}

/** The name under which the service counts policies beyond the maximum, together with a policy of this name. */
const OTHER = 'other'

const EVERY_MS = 10_000
const HOUR_SECONDS = 3600

/** Undefined until the sums are known. */
export function usePolicyHits(span: HitsSpan): PolicyHits | undefined {
  const hour = usePolled('getStats', span === 'hour' ? { query: { seconds: HOUR_SECONDS } } : undefined, EVERY_MS)
  const month = usePolled('getHistory', span === 'month' ? {} : undefined, EVERY_MS)
  const data = span === 'hour' ? hour.data : month.data
  return data && { byName: new Map(data.policies.map((sums) => [sums.name, sums])), isComplete: data.policies_complete }
}

export function HitsCell({ name, hits }: { readonly name: string; readonly hits: PolicyHits | undefined }) {
  if (hits === undefined) return null
  const sums = name === OTHER && !hits.isComplete ? undefined : hits.byName.get(name)
  if (sums === undefined) return <span class="small soft">{hits.isComplete ? 'no checks' : 'not counted'}</span>
  const all = checksOf(sums)
  if (all === 0) return <span class="small soft">no checks</span>
  const denied = sums.denied + sums.shadow_denied
  const title = `${fullCount(all)} checks: ${fullCount(sums.denied)} denied, ${fullCount(sums.shadow_denied)} in shadow, ${fullCount(sums.errors)} errors`
  return (
    <span class="hits" title={title}>
      <span>{shortCount(all)}</span>
      <span class="small soft">{denied === 0 ? 'none denied' : `${shareText(denied, all)} denied`}</span>
    </span>
  )
}
