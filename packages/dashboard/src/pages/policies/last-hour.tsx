// The traffic of the last hour under a policy that is not saved yet: what changes, when, for whom, and by which rule.

import type { ComponentChildren } from 'preact'
import type { SimulatedClient, Simulation } from '../../api/answers.ts'
import { withQuery } from '../../api/call.ts'
import { ChangingText } from '../../controls/changing-text.tsx'
import { fullCount, howMany } from '../../words/count-text.ts'
import './last-hour.css'
import { LastHourChart } from './last-hour-chart.tsx'
import { changeText, refusalText, sampleText } from './last-hour-words.ts'
import { SimulatedRules } from './simulated-rules.tsx'
import type { Simulated } from './use-simulation.ts'

export interface LastHourProps {
  readonly simulated: Simulated
  /** Name of the policy in the report. */
  readonly name: string
  /** True if the policy is to be in shadow mode. */
  readonly isShadow: boolean
  /** True if the rules can be simulated. */
  readonly isRight: boolean
}

const ASK = 'Replay'
const ASK_AGAIN = 'Replay again'
const STOP = 'Stop'

export function LastHour({ simulated, name, isShadow, isRight }: LastHourProps) {
  const { phase, report, problem, ask, stop } = simulated
  const isAsking = phase === 'asking' || phase === 'due'
  const action = isAsking ? STOP : report === undefined ? ASK : ASK_AGAIN
  return (
    <section class="card last-hour" aria-label="The last hour's traffic">
      <div class="card-head">
        <h2>With the last hour's traffic</h2>
        <button type="button" class="button slim" disabled={!isAsking && !isRight} onClick={isAsking ? stop : ask}>
          <ChangingText texts={[ASK, ASK_AGAIN, STOP]} shown={action} />
        </button>
      </div>
      <div aria-live="polite" aria-busy={isAsking}>
        <Says phase={phase} isRight={isRight} report={report} problem={problem && refusalText(problem)} />
      </div>
      {report !== undefined && report.requests > 0 && (
        <div class={phase === 'done' ? 'replayed' : 'replayed old'}>
          {isShadow && <p class="small soft">As if it were enforced. In shadow mode it lets every request pass.</p>}
          <Totals report={report} />
          <LastHourChart report={report} />
          <SimulatedRules report={report} name={name} />
          <FeltBy
            title="Newly denied"
            clients={report.top_clients}
            total={report.change.clients_newly_denied}
            of="newly_denied"
          />
          <FeltBy
            title="Newly allowed"
            clients={report.top_newly_allowed}
            total={report.change.clients_newly_allowed}
            of="newly_allowed"
          />
          <ul class="small soft">
            {sampleText(report).map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </div>
      )}
    </section>
  )
}

interface SaysProps extends Pick<Simulated, 'phase' | 'report'> {
  readonly isRight: boolean
  readonly problem: string | undefined
}

/** One line that is always there, so that nothing moves while a replay runs. */
function Says({ phase, isRight, report, problem }: SaysProps): ComponentChildren {
  if (!isRight) return <p class="soft">No picture of the change until its rules are right.</p>
  if (phase === 'refused') return <p class="soft">No picture of the change: {problem}</p>
  if (phase === 'due' || phase === 'asking') return <p class="soft">Replaying the checks of the last hour …</p>
  if (report === undefined)
    return <p class="soft">See whom a change would hit, before it is saved. It changes nothing and is done in a moment.</p>
  if (report.requests === 0) return <Empty />
  return (
    <p>
      <strong>{changeText(report)}</strong>
    </p>
  )
}

function Empty() {
  return (
    <p class="soft">
      This instance has decided no check in the last hour. Send some traffic through it, or replay a log of your proxy:{' '}
      <code>sluice simulate --policies new.yaml --against current access.log</code>
    </p>
  )
}

function Totals({ report: { requests, denied, undecided, change } }: { readonly report: Simulation }) {
  const rows = [
    ['Allowed', requests - undecided - change.denied_before, requests - undecided - denied],
    ['Denied', change.denied_before, denied],
  ] as const
  return (
    <>
      <table class="plain totals">
        <thead>
          <tr>
            <th scope="col">Checks</th>
            <th scope="col" class="number">
              Now
            </th>
            <th scope="col" class="number">
              After the change
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([title, now, then]) => (
            <tr key={title}>
              <th scope="row">{title}</th>
              <td class="number">{fullCount(now)}</td>
              <td class="number">{fullCount(then)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {undecided > 0 && <p class="small soft">{howMany(undecided, 'check')} could only be reserved, and is not pictured.</p>}
    </>
  )
}

interface FeltByProps {
  readonly title: string
  readonly clients: readonly SimulatedClient[]
  /** Number of all such clients. */
  readonly total: number
  readonly of: 'newly_denied' | 'newly_allowed'
}

function FeltBy({ title, clients, total, of }: FeltByProps) {
  if (total === 0) return null
  return (
    <div class="felt-by">
      <h3>
        {title}: {howMany(total, 'client')}
      </h3>
      <table class="plain fixed-columns">
        <thead>
          <tr>
            <th scope="col">Client</th>
            <th scope="col" class="number">
              Checks
            </th>
            <th scope="col" class="number">
              {title}
            </th>
          </tr>
        </thead>
        <tbody>
          {clients.map((client) => (
            <tr key={client.client_id}>
              <td>
                <a class="clip" href={withQuery('/clients', { client: client.client_id })} title={client.client_id}>
                  {client.client_id}
                </a>
              </td>
              <td class="number">{fullCount(client.requests)}</td>
              <td class="number">{fullCount(client[of])}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {total > clients.length && <p class="small soft">and {howMany(total - clients.length, 'more client')}</p>}
    </div>
  )
}
