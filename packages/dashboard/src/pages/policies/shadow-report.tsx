// The report of a policy in shadow mode: what it would have denied since it began, and a button that makes it enforce.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Policy, ShadowReport as Report } from '../../api/answers.ts'
import { withQuery } from '../../api/call.ts'
import { isAdmin } from '../../api/session.ts'
import { AskFailed } from '../../controls/ask-failed.tsx'
import { fullCount } from '../../words/count-text.ts'
import { fullTime } from '../../words/time-text.ts'
import { ModeDialog } from './mode-dialog.tsx'
import './shadow-report.css'
import { countText, instancesText, shadowText } from './shadow-words.ts'
import { useShadowReport } from './use-shadow-report.ts'

export interface ShadowReportProps {
  readonly policy: Policy
  /** Called after the policy was changed. */
  readonly onChanged: () => void
}

export function ShadowReport({ policy, onChanged }: ShadowReportProps) {
  const { name, source } = policy
  const report = useShadowReport(name)
  const [isAsked, setAsked] = useState(false)
  return (
    <section class="card shadow-report" aria-label="In shadow mode">
      <div class="card-head">
        <h2>In shadow mode</h2>
        {isAdmin.value && source === 'api' && (
          <button type="button" class="button main" onClick={() => setAsked(true)}>
            Enforce …
          </button>
        )}
      </div>
      <AskFailed of={[report]} />
      {report.data !== undefined && <Counts report={report.data} />}
      {isAsked && <ModeDialog policy={policy} onClose={() => setAsked(false)} onDone={onChanged} />}
    </section>
  )
}

function Counts({ report }: { readonly report: Report }) {
  const { rules, clients, unlisted_at_most } = report
  return (
    <>
      <p>{shadowText(report)}</p>
      {rules.length > 0 && (
        <DenialTable title="Rule">
          {rules.map(({ name, denied }) => (
            <tr key={name}>
              <td>
                <span class="clip" title={name}>
                  {name}
                </span>
              </td>
              <td class="number">{fullCount(denied)}</td>
            </tr>
          ))}
        </DenialTable>
      )}
      {clients.length > 0 && (
        <DenialTable title="Client">
          {clients.map(({ client_id, denied, error }) => (
            <tr key={client_id}>
              <td>
                <a class="clip" href={withQuery('/clients', { client: client_id })} title={client_id}>
                  {client_id}
                </a>
              </td>
              <td class="number">{countText(denied, error)}</td>
            </tr>
          ))}
        </DenialTable>
      )}
      {unlisted_at_most > 0 && <p class="small soft">Any other client: at most {fullCount(unlisted_at_most)}.</p>}
      <Instances report={report} />
    </>
  )
}

function DenialTable({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <table class="plain fixed-columns">
      <thead>
        <tr>
          <th scope="col">{title}</th>
          <th scope="col" class="number">
            Would have denied
          </th>
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  )
}

function Instances({ report }: { readonly report: Report }) {
  const { instances } = report
  return (
    <details class="small soft">
      <summary>{instancesText(report)}</summary>
      <p>An instance counts since its start. A change of the policy begins anew.</p>
      <ul>
        {instances.map(({ id, self, since, checks, denied }) => (
          <li key={id}>
            <span class="mono">{id}</span>
            {self && ' (this one)'}:{' '}
            {since === null ? 'no check yet' : `${fullCount(denied)} of ${fullCount(checks)} since ${fullTime(since)}`}
          </li>
        ))}
      </ul>
    </details>
  )
}
