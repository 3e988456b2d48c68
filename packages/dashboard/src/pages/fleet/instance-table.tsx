// The instances of a fleet, one by one. The answering one is first.

import { checksOf, type Instance } from '../../api/answers.ts'
import { rateText, shareText, shortCount } from '../../words/count-text.ts'
import { fullTime, waitText } from '../../words/time-text.ts'
import { isUp } from './fleet-summary.ts'

const STATE_CHIPS: Readonly<Record<string, string>> = { ready: 'good', starting: 'accent', draining: 'warn', gone: 'bad' }

interface InstanceTableProps {
  readonly instances: readonly Instance[]
  readonly nowMs: number
}

export function InstanceTable({ instances, nowMs }: InstanceTableProps) {
  return (
    <table class="plain stacks fixed-columns">
      <colgroup>
        <col />
        <col class="instance-state-column" />
        <col class="instance-version-column" />
        <col class="instance-time-column" />
        <col class="instance-count-column" />
        <col class="instance-count-column" />
        <col class="instance-count-column" />
        <col class="instance-count-column" />
        <col class="instance-time-column" />
      </colgroup>
      <thead>
        <tr>
          <th scope="col">Instance</th>
          <th scope="col">State</th>
          <th scope="col">Version</th>
          <th scope="col">Up for</th>
          <th scope="col">Rate</th>
          <th scope="col">Checks</th>
          <th scope="col">Denied</th>
          <th scope="col">Errors</th>
          <th scope="col">Seen</th>
        </tr>
      </thead>
      <tbody>
        {instances.map((instance) => (
          <InstanceRow key={instance.id} instance={instance} nowMs={nowMs} />
        ))}
      </tbody>
    </table>
  )
}

function InstanceRow({ instance, nowMs }: { readonly instance: Instance; readonly nowMs: number }) {
  const { id, self, state, version, started_at, per_second, seen_ms_ago } = instance
  const checks = checksOf(instance)
  return (
    <tr>
      <td>
        <span class="name-cell">
          <span class="mono clip" title={id}>
            {id}
          </span>
          {self && <span class="chip accent">this one</span>}
        </span>
      </td>
      <td data-label="State">
        <span class={`chip ${STATE_CHIPS[state] ?? ''}`}>{state}</span>
      </td>
      <td data-label="Version">
        <span class="clip" title={version}>
          {version}
        </span>
      </td>
      <td data-label="Up for" title={`Since ${fullTime(started_at)}`}>
        {isUp(instance) ? waitText(Math.max(0, (nowMs - Date.parse(started_at)) / 1000)) : '–'}
      </td>
      <td data-label="Rate">{isUp(instance) ? `${rateText(per_second)}/s` : '–'}</td>
      <td data-label="Checks">{shortCount(checks)}</td>
      <td data-label="Denied">{shareText(instance.denied, checks)}</td>
      <td data-label="Errors">{shortCount(instance.errors)}</td>
      <td data-label="Seen">{self ? 'now' : seenText(seen_ms_ago)}</td>
    </tr>
  )
}

/** '5 s ago', '3 min ago'. An instance that is gone is forgotten after ten minutes. */
function seenText(ms: number): string {
  return ms < 60_000 ? `${Math.ceil(ms / 1000)} s ago` : `${Math.floor(ms / 60_000)} min ago`
}
