// The fleet: all instances that share a database, together and one by one.

import { useMemo } from 'preact/hooks'
import { checksOf, type Fleet as FleetAnswer } from '../../api/answers.ts'
import { withQuery } from '../../api/call.ts'
import { type Polled, usePolled } from '../../api/polled.ts'
import { bucketed } from '../../charts/buckets.ts'
import { DecisionsChart } from '../../charts/decisions-chart.tsx'
import { Legend } from '../../charts/legend.tsx'
import { AskFailed } from '../../controls/ask-failed.tsx'
import { Figure } from '../../controls/figure.tsx'
import { SummaryLine } from '../../controls/summary-line.tsx'
import { fullCount, rateText, shareText, shortCount } from '../../words/count-text.ts'
import './fleet.css'
import { fleetSummary, rateOf, versionsOf } from './fleet-summary.ts'
import { InstanceTable } from './instance-table.tsx'

const EVERY_MS = 2000
const STATUS_EVERY_MS = 10_000
const STEP_SECONDS = 2

/** Instances publish a report every five seconds. Newer seconds of the others are not known yet. */
const UNKNOWN_SECONDS = 5

const ROWS = 20

export function Fleet() {
  const fleet = usePolled('getFleet', {}, EVERY_MS)
  const status = usePolled('getStatus', {}, STATUS_EVERY_MS)
  const { data } = fleet
  return (
    <div class="fleet">
      <header class="page-head">
        <div>
          <h1>Fleet</h1>
          <p>All instances that share a database, together.</p>
        </div>
      </header>
      <AskFailed of={[fleet, status] as readonly Polled<unknown>[]} />
      <SummaryLine label="How the fleet stands" summary={data && status.data && fleetSummary(data, status.data.store.kind)} />
      <FleetFigures fleet={data} />
      <FleetChart fleet={data} />
      <section class="card stacking" aria-label="Instances">
        <h2>Instances</h2>
        <InstanceTable instances={data?.instances ?? []} nowMs={Date.now()} />
      </section>
      <BusiestPolicies fleet={data} />
    </div>
  )
}

function FleetFigures({ fleet }: { readonly fleet: FleetAnswer | undefined }) {
  const totals = fleet?.totals
  const versions = fleet && versionsOf(fleet)
  return (
    <dl class="figures">
      <Figure title="Instances up" value={fleet === undefined ? '' : fullCount(fleet.up)} />
      <Figure title="Checks a second" value={fleet === undefined ? '' : rateText(rateOf(fleet))} />
      <Figure title="Checks" value={totals === undefined ? '' : shortCount(checksOf(totals))} />
      <Figure title="Denied" value={totals === undefined ? '' : shareText(totals.denied, checksOf(totals))} tone="denied" />
      <Figure title="Errors" value={totals === undefined ? '' : shortCount(totals.errors)} tone="errors" />
      <Figure
        title={versions !== undefined && versions.length > 1 ? 'Versions' : 'Version'}
        value={versions === undefined ? '' : versions.length > 1 ? fullCount(versions.length) : versions.join()}
      />
    </dl>
  )
}

function FleetChart({ fleet }: { readonly fleet: FleetAnswer | undefined }) {
  const buckets = useMemo(() => {
    if (fleet === undefined) return undefined
    const known = fleet.up > 1 ? fleet.seconds - UNKNOWN_SECONDS : fleet.seconds
    return bucketed({ ...fleet, seconds: known }, STEP_SECONDS)
  }, [fleet])
  return (
    <section class="card" aria-label="Decisions of the fleet over time">
      <div class="card-head">
        <h2>
          Decisions each second <span class="small soft">in the last two minutes</span>
        </h2>
        <Legend />
      </div>
      {buckets === undefined ? <div class="chart-space" /> : <DecisionsChart buckets={buckets} />}
    </section>
  )
}

function BusiestPolicies({ fleet }: { readonly fleet: FleetAnswer | undefined }) {
  const policies = fleet?.policies.slice(0, ROWS)
  return (
    <section class="card" aria-label="Busiest policies">
      <h2>
        Busiest policies <span class="small soft">in the last hour</span>
      </h2>
      {policies === undefined ? null : policies.length === 0 ? (
        <p class="empty soft">No policy saw a check in the last hour.</p>
      ) : (
        <table class="plain fixed-columns">
          <colgroup>
            <col />
            <col class="fleet-count-column" />
            <col class="fleet-count-column" />
            <col class="fleet-count-column wide-only" />
          </colgroup>
          <thead>
            <tr>
              <th scope="col">Policy</th>
              <th scope="col" class="number">
                Checks
              </th>
              <th scope="col" class="number">
                Denied
              </th>
              <th scope="col" class="number wide-only">
                Errors
              </th>
            </tr>
          </thead>
          <tbody>
            {policies.map((policy) => (
              <tr key={policy.name}>
                <td>
                  <a class="clip" href={withQuery('/policies', { name: policy.name })} title={policy.name}>
                    {policy.name}
                  </a>
                </td>
                <td class="number">{shortCount(checksOf(policy))}</td>
                <td class="number">{shareText(policy.denied, checksOf(policy))}</td>
                <td class="number wide-only">{shortCount(policy.errors)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
