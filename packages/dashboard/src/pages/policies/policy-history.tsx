// The history of a policy, from the audit log, for keys that may read it.

import type { PolicySpec } from '../../api/answers.ts'
import { usePolled } from '../../api/polled.ts'
import { fullTime } from '../../words/time-text.ts'
import { actorName } from '../keys/actor-name.ts'
import { DiffView } from './diff-view.tsx'
import { lineDiff } from './line-diff.ts'
import { policyLines } from './policy-yaml.ts'

export function PolicyHistory({ name }: { readonly name: string }) {
  const audit = usePolled('readAudit', { query: { target: name } }, 30_000)
  const keys = usePolled('listKeys', {}, 60_000)
  const entries = audit.data?.entries.filter(({ action }) => action.startsWith('policy.'))
  return (
    <section class="card history" aria-label="History">
      <h2>History</h2>
      {entries === undefined ? null : entries.length === 0 ? (
        <p class="soft">
          {audit.data?.next === null ? 'The audit log has' : 'The newest part of the audit log has'} no change of it.
        </p>
      ) : (
        <ol>
          {entries.map(({ time, actor, action, before, after }) => (
            <li key={`${time} ${action}`}>
              <details>
                <summary>
                  {verb(action, before)} by <strong>{actorName(actor, keys.data?.keys)}</strong>, {fullTime(time)}
                </summary>
                <DiffView lines={lineDiff(linesOf(before), linesOf(after))} />
              </details>
            </li>
          ))}
        </ol>
      )}
    </section>
  )
}

function verb(action: string, before: unknown): string {
  if (action === 'policy.delete') return 'Deleted'
  return before === undefined ? 'Added' : 'Changed'
}

function linesOf(spec: unknown): string[] {
  return spec === undefined || spec === null ? [] : policyLines(spec as PolicySpec)
}
