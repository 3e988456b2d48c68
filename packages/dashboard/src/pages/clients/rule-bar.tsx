// A bar that shows the used part of a rule's limit, and when all of it is free again.

import type { RuleUsage } from '../../api/answers.ts'
import { fullCount } from '../../words/count-text.ts'
import { waitText } from '../../words/time-text.ts'

export function RuleBar({ rule: { name, limit, used, reset_in_second, retry_after_ms } }: { readonly rule: RuleUsage }) {
  const share = limit === 0 ? 1 : Math.min(1, used / limit)
  const tone = retry_after_ms !== 0 ? 'full' : share >= 0.8 ? 'near' : ''
  const reset = reset_in_second === 0 ? 'nothing counted' : `fresh in ${waitText(reset_in_second)}`
  const retry = retry_after_ms === 0 || retry_after_ms === null ? '' : `next passes in ${waitText(retry_after_ms / 1000)}, `
  return (
    <li class={`rule-bar ${tone}`}>
      <span class="small clip" title={name}>
        {name}
      </span>
      <span class="small number">
        <strong>{fullCount(used)}</strong> of {fullCount(limit)} used
      </span>
      <span class="meter" aria-hidden="true">
        <span style={{ width: `${share * 100}%` }} />
      </span>
      <span class="small soft rule-times">
        {retry}
        {reset}
      </span>
    </li>
  )
}
